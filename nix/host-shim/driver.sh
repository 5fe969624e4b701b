# Runs the phases of one derivation in the order of nixpkgs' stdenv. A setup hook of an input may provide a phase that the
# derivation does not set itself.
set -eu -o pipefail
source "$stdenv/setup"

runHook() {
    local hook=$1
    if [ -n "${!hook-}" ]; then eval "${!hook}"; fi
    local listed="${hook}Hooks[@]"
    local name
    for name in ${!listed-}; do "$name"; done
}

runPhase() {
    local phase=$1
    if [ -n "${!phase-}" ]; then
        echo "Running phase: $phase"
        eval "${!phase}"
    fi
}

export HOME=/homeless-shelter TMPDIR=$NIX_BUILD_TOP
NIX_BUILD_CORES=$(nproc)
export NIX_BUILD_CORES
cd "$NIX_BUILD_TOP"

for input in $nativeBuildInputs; do
    if [ -e "$input/nix-support/setup-hook" ]; then source "$input/nix-support/setup-hook"; fi
done

if [ -z "${dontUnpack-}" ]; then
    cp -r "$src" source
    chmod -R u+w source
    cd source
fi
runHook postUnpack
runPhase buildPhase
if [ -n "${doCheck-}" ]; then runPhase checkPhase; fi
runPhase installPhase
if [ -n "${doCheck-}" ]; then runPhase installCheckPhase; fi
