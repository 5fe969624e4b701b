# the flake: its checks, its packages, its programs, with the pinned lock untouched
# Where nixpkgs cannot be fetched, nix/host-shim stands in for it; MICROCODER_NIX_REAL=1 uses the real one and the machine's store.
setup() {
    need_program git git
    need_program nix nix-bin
    need_component rustfmt
    need_component clippy
    need_python_tools
}

# A copy of the tracked files, because Nix sees no others and files may change while it works. The fixed date gives equal content an
# equal name, so that nothing is built twice.
copy_of_the_tracked_files() {
    local into=$1 file
    rm -rf "$into"
    mkdir -p "$into"
    git ls-files -z | while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
        tar --null --files-from - --create --file - | tar --extract --file - --directory "$into"
    (
        cd "$into" || exit
        export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
        git init --quiet --initial-branch main
        git add --all --force
        git -c user.name=tests -c user.email=tests@example.invalid commit --quiet --message "The tracked files"
    )
}

# Lets the shim take the place of nixpkgs, with a store of its own: the machine's store and database stay as they are. Builds run in
# Nix's sandbox, as an unprivileged user without a network, so they show that nothing is fetched that is not in the lock.
use_the_shim() {
    rm -rf "$nix/shim"
    cp -r nix/host-shim "$nix/shim"
    "$nix/shim/mkhost.sh" --venv target/venv "$nix/shim/host.nix"
    options=(--override-input nixpkgs "path:$nix/shim")
    export NIX_CONF_DIR=$nix/conf NIX_STORE_DIR=$nix/store NIX_STATE_DIR=$nix/state NIX_LOG_DIR=$nix/log
    mkdir -p "$nix/conf"
    cat >"$nix/conf/nix.conf" <<CONF
experimental-features = nix-command flakes
sandbox = true
sandbox-fallback = false
sandbox-paths = $(cat "$nix/shim/sandbox-paths")
substituters =
build-users-group =
flake-registry =
CONF
    local probe='derivation { name = "probe"; system = builtins.currentSystem; builder = "/bin/sh"; args = [ "-c" "echo > $out" ]; }'
    if ! nix build --no-link --impure --expr "$probe"; then
        echo "nix: this machine has no sandbox for builds: going on without"
        sed -i 's/^sandbox = .*/sandbox = false/' "$nix/conf/nix.conf"
        skipped=1
    fi
}

lock_names_one_nixpkgs() {
    nix flake metadata --json "$flake" | python3 -c '
import json, sys
locked = json.load(sys.stdin)["locks"]["nodes"]["nixpkgs"]["locked"]
sys.exit(not (len(locked["rev"]) == 40 and locked["narHash"].startswith("sha256-") and locked["lastModified"]))'
}

versions_are_right() {
    local version program
    version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
    for program in microcoder coder; do
        [ "$(nix run "${options[@]}" "$flake#$program" -- --version)" = "$program $version" ] || return 1
    done
}

demo_runs() { nix run "${options[@]}" "$flake" -- demo; }

# step NAME COMMAND…: one counted test
step() {
    local name=$1 started=$SECONDS
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "nix: $name: ok, $((SECONDS - started))s"
    else
        failed=$((failed + 1))
        echo "nix: $name: FAILED, $((SECONDS - started))s"
    fi
}

run() {
    nix=$root/target/nix
    options=()
    flake=git+file://$nix/source
    passed=0 failed=0 skipped=0
    copy_of_the_tracked_files "$nix/source"
    if [ "${MICROCODER_NIX_REAL-}" != 1 ]; then use_the_shim; fi

    step "the lock names one exact nixpkgs" lock_names_one_nixpkgs
    # One build at a time: two compilations of the workspace side by side would only fight over the processors.
    step "nix flake check" nix flake check --print-build-logs --keep-going --max-jobs 1 "${options[@]}" "$flake"
    step "nix build" nix build --no-link "${options[@]}" "$flake"
    step "nix build .#coder-core" nix build --no-link "${options[@]}" "$flake#coder-core"
    step "nix run .#microcoder -- --version, and coder" versions_are_right
    step "nix run . -- demo" demo_runs
    step "nix develop" nix develop "${options[@]}" "$flake" --command cargo --version
    # What `nix develop` tells its shell to source; it leaves the file when it becomes the command.
    rm -rf "${TMPDIR:?}"/nix-shell.*
    step "flake.lock is untouched" git -C "$nix/source" diff --exit-code --stat

    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
