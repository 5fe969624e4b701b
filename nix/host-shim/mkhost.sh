#!/usr/bin/env bash
# Writes host.nix: where this machine keeps the programs and crates that the shim lends to a build.
# Usage: mkhost.sh [--venv FOLDER] [OUTPUT]     FOLDER: a Python environment with maturin, pip, pytest and hypothesis
# Beside OUTPUT it writes sandbox-paths: what a sandboxed build must be able to read.
set -eu -o pipefail

venv=
if [ "${1-}" = --venv ]; then
    venv=$(cd "$2" && pwd)
    shift 2
fi
output=${1:-$(cd "$(dirname "$0")" && pwd)/host.nix}

# The rustup proxies do not work with an empty HOME, so take the real programs.
if command -v rustup >/dev/null; then
    toolchain=$(dirname "$(rustup which cargo)")
else
    toolchain=$(dirname "$(readlink -f "$(command -v cargo)")")
fi
cargo_home=${CARGO_HOME:-$HOME/.cargo}
base_path=/usr/local/bin:/usr/bin:/bin
path=$toolchain${venv:+:$venv/bin}:$base_path
python=$(PATH=$path python3 -c 'import sys; print(sys.base_prefix)')

cat >"$output" <<NIX
{
  bash = "$(PATH=$base_path command -v bash)";
  path = "$path";
  basePath = "$base_path";
  cargoHome = "$cargo_home";
}
NIX
# /etc/alternatives: on Debian `cc` is a link through it.
printf '%s\n' /usr /lib /lib64 /bin /etc/alternatives "$(dirname "$toolchain")" "$cargo_home/registry" $venv $python |
    while read -r folder; do if [ -e "$folder" ]; then printf '%s ' "$folder"; fi; done >"$(dirname "$output")/sandbox-paths"
