# A crate is made, built, tested and run, with a build script and a library of its own.
set -e
export PATH=$RUST/bin:$PATH CARGO_HOME=$HOME/.cargo CARGO_NET_OFFLINE=true
cargo new -q --vcs none made && cd made
printf 'fn main() { println!("cargo:rustc-env=MADE=42"); }\n' >build.rs
printf 'fn main() { println!("{}", env!("MADE")); }\n#[test]\nfn it() { std::thread::spawn(|| 1).join().unwrap(); }\n' >src/main.rs
[ "$(cargo run -q)" = 42 ] && cargo test -q >/dev/null
echo works
