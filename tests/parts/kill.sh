# owners and clients killed 500 times under load: every task ends, no process stays
setup() { need_cargo; }
run() {
    MICROCODER_LOAD_KILLS=${MICROCODER_LOAD_KILLS:-500} \
        cargo test --locked --package coder-cli --test cli -- --nocapture kill_load::
}
