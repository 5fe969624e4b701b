# what a person does at the command line, from outside
setup() {
    need_cargo
    tests/e2e/fetch
}
run() {
    cargo build --release --locked --package coder-cli
    MICROCODER_BIN=$root/target/release tests/e2e/run
}
