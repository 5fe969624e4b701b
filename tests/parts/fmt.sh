# Rust code is formatted
setup() { need_component rustfmt; }
run() { cargo fmt --all --check; }
