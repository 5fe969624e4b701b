# the reference documentation builds without a warning
setup() { need_cargo; }
run() { RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked; }
