# what a person does at the command line, from outside
setup() {
    need_cargo
    [ -x tests/e2e/run ] || missing "tests/e2e/run"
}
run() {
    cargo build --release --locked --package coder-cli
    MICROCODER_BIN=$root/target/release tests/e2e/run
}
