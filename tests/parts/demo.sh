# the README's first command, from a clean build, and the same with a store that stays
setup() { need_cargo; }
run() {
    cargo build --release --locked --package coder-cli
    cargo run --release --locked --bin microcoder -- demo
    mkdir "$TMPDIR/demo"
    target/release/microcoder demo --store "$TMPDIR/demo/store"
    rm -rf "$TMPDIR/demo"
}
