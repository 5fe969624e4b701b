# the installed program does its whole main job, offline
setup() { need_cargo; }
run() {
    cargo build --release --locked --package coder-cli
    target/release/microcoder --version
    target/release/microcoder demo --store "$TMPDIR/store"
    rm -rf "$TMPDIR/store"
}
