# What a part may ask for in its set-up. Each function installs what is missing, or ends the part with one line that begins
# `missing:` and status 77. Sourced by tests/lib/part; expects $root.

missing() {
    echo "missing: $*"
    exit 77
}

# Installs Debian packages: as root, or through sudo.
install_packages() {
    command -v apt-get >/dev/null || missing "$* (this machine has no apt-get: install them by hand)"
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || missing "the packages $* (run \`apt-get install $*\` as root)"
        as_root=(sudo -n)
    fi
    local install=(${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@")
    # A fresh machine has no list of packages yet.
    "${install[@]}" || { ${as_root[@]+"${as_root[@]}"} apt-get update -q && "${install[@]}"; } ||
        missing "the packages $* (\`apt-get install\` failed)"
}

# need_program PROGRAM PACKAGE…
need_program() {
    local program=$1
    shift
    command -v "$program" >/dev/null || install_packages "$@"
}

need_cargo() {
    command -v cargo >/dev/null || missing "cargo (install Rust 1.89 or later, for example with rustup)"
    need_program cc gcc libc6-dev
    # Without a network this succeeds when every crate is already here.
    cargo fetch --locked --quiet || cargo fetch --locked --offline --quiet
}

# need_component COMPONENT: a part of the Rust toolchain, such as clippy
need_component() {
    need_cargo
    local program=cargo-$1
    if [ "$1" = rustfmt ]; then program=rustfmt; fi
    if "$program" --version >/dev/null 2>&1; then return; fi
    if command -v rustup >/dev/null; then
        rustup component add "$1" || missing "the toolchain component $1 (rustup could not add it)"
    else
        install_packages "$1"
    fi
}

# need_environment FOLDER REQUIREMENTS [PIP ARGUMENT…]: a Python environment with exactly the named requirements
need_environment() {
    local folder=$1 requirements=$2 stamp
    shift 2
    stamp=$(python3 --version && cat "$requirements")
    if [ -f "$folder/stamp" ] && [ "$(cat "$folder/stamp")" = "$stamp" ]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet "$@" --requirement "$requirements" || missing "the Python packages of $requirements"
    echo "$stamp" >"$folder/stamp"
}

need_python_tools() { need_environment "$root/target/venv" python/requirements-dev.txt; }

# The Claude Code program, one exact version, for the tests of our client of it.
need_claude() {
    local folder=$root/target/claude version=2.1.332
    if [ -x "$claude_program" ] && [ "$(cat "$folder/stamp")" = "$version" ]; then return; fi
    need_program npm npm
    npm install --silent --no-fund --no-audit --prefix "$folder" "@anthropic-ai/claude-code@$version" ||
        missing "the Claude Code program (npm could not install it)"
    echo "$version" >"$folder/stamp"
}
claude_program=$root/target/claude/node_modules/.bin/claude

# The validator of the trajectory format, without the hundred packages of the program it is part of. Its metadata asks for a newer
# Python than Debian 12 has; the validator itself does not need it.
need_harbor() { need_environment "$root/target/venv-harbor" tests/lib/harbor.txt --no-deps --ignore-requires-python; }
harbor_python=$root/target/venv-harbor/bin/python
if [ -x "$harbor_python" ]; then export MICROCODER_HARBOR_PYTHON=$harbor_python; fi
