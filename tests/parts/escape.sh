# what must not get out of the boundary does not, and what must work in it does
setup() {
    need_cargo
    need_python_tools
    need_program make make
    need_program sqlite3 sqlite3
    need_program npm nodejs npm
    need_program script bsdutils
    need_program tmux tmux
    need_program openssl openssl
    need_program cc gcc libc6-dev
    need_program go golang-go
    need_uv
}

# uv is a program in a Python package; it is taken out, to be granted alone.
need_uv() {
    need_environment "$root/target/venv-escape" tests/escape/requirements.txt
    mkdir -p "$root/target/escape"
    cp "$root/target/venv-escape/bin/uv" "$root/target/escape/uv"
}

run() {
    local tools=$root/target/venv/bin
    "$tools/ruff" check --no-cache tests/escape
    "$tools/ruff" format --no-cache --check tests/escape
    (cd tests/escape && "$tools/mypy" --cache-dir "$root/target/mypy-escape" ./*.py tools/*.py)
    cargo build --release --locked --package coder-cli
    # The one build that can leave layers out, which no release can be.
    cargo build --locked --package coder-host --example escape --features escape-tests
    python3 tests/escape/run.py "$root/target/release" --weakened "$root/target/debug/examples/escape" --tools "$root/target/escape"
}
