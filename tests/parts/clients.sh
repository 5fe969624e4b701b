# the real Claude Code program, through our client of it, against a local server
setup() {
    need_cargo
    need_claude
}
run() {
    MICROCODER_CLAUDE=$claude_program cargo test --locked --package coder-models --test clients -- --ignored
}
