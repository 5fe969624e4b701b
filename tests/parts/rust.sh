# every Rust test and documentation example
setup() {
    need_cargo
    need_program curl curl
    # The trajectory tests ask this validator for a second opinion.
    need_harbor
}
# The Python extension has no test binary of its own: it links only inside an interpreter, and the `python` part tests it there.
run() { cargo test --workspace --exclude coder-python --locked --no-fail-fast -- --quiet; }
