# the page of a long run in a real browser, by its document, by pictures and by keys
setup() {
    need_cargo
    need_program chromium-headless-shell chromium-headless-shell fonts-dejavu-core
}
run() {
    cargo build --release --locked --package coder-cli
    python3 tests/html/run.py "$root/target/release" "$(command -v chromium-headless-shell)" --pictures "$root/target/tests/html"
}
