# the flake: its checks, its packages, its program, with the pinned lock untouched
# Where nixpkgs cannot be fetched, nix/host-shim stands in for it; MICROCODER_NIX_REAL=1 uses the real one.
setup() {
    need_program git git
    need_program nix nix-bin
    need_component rustfmt
    need_component clippy
    need_python_tools
}
run() {
    local nix=$root/target/nix
    mkdir -p "$nix/conf"
    # A store of its own: the machine's store and its database stay as they are.
    export NIX_CONF_DIR=$nix/conf NIX_STORE_DIR=$nix/store NIX_STATE_DIR=$nix/state NIX_LOG_DIR=$nix/log
    cat >"$nix/conf/nix.conf" <<CONF
experimental-features = nix-command flakes
sandbox = false
substituters =
build-users-group =
flake-registry =
CONF

    # Nix sees tracked files only, and a copy lets files change while it works. The fixed date gives equal content an equal name.
    rm -rf "$nix/source"
    mkdir "$nix/source"
    git ls-files -z | while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
        tar --null --files-from - --create --file - | tar --extract --file - --directory "$nix/source"
    (
        cd "$nix/source"
        export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
        git init --quiet --initial-branch main
        git add --all --force
        git -c user.name=tests -c user.email=tests@example.invalid commit --quiet --message "The tracked files"
    )

    local override=()
    if [ "${MICROCODER_NIX_REAL-}" != 1 ]; then
        rm -rf "$nix/shim"
        cp -r nix/host-shim "$nix/shim"
        "$nix/shim/mkhost.sh" --venv target/venv "$nix/shim/host.nix"
        override=(--override-input nixpkgs "path:$nix/shim")
    fi
    local flake=git+file://$nix/source
    local passed=0 failed=0
    # step NAME COMMAND…: one counted test
    step() {
        local name=$1 started=$SECONDS
        shift
        if "$@"; then passed=$((passed + 1)) && echo "nix: $name: ok, $((SECONDS - started))s"; else
            failed=$((failed + 1))
            echo "nix: $name: FAILED, $((SECONDS - started))s"
        fi
    }
    lock_is_complete() {
        nix flake metadata --json "$flake" | python3 -c '
import json, sys
locked = json.load(sys.stdin)["locks"]["nodes"]["nixpkgs"]["locked"]
sys.exit(not (len(locked["rev"]) == 40 and locked["narHash"].startswith("sha256-") and locked["lastModified"]))'
    }
    version_is_right() {
        local version
        version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
        [ "$(nix run "${override[@]}" "$flake#microcoder" -- --version)" = "microcoder $version" ]
    }
    demo_runs() {
        nix run "${override[@]}" "$flake" -- demo --store "$TMPDIR/store" && rm -rf "$TMPDIR/store"
    }
    # With the sandbox on there is no network inside, so this shows that a build asks for nothing that is not pinned.
    sandboxed_build() {
        local system
        system=$(nix eval --raw --impure --expr builtins.currentSystem)
        nix build --no-link --rebuild "${override[@]}" --option sandbox true --option sandbox-fallback false \
            --option sandbox-paths "$(cat "$nix/shim/sandbox-paths")" "$flake#checks.$system.format"
    }

    step "the lock names one exact nixpkgs" lock_is_complete
    # One build at a time: two compilations of the workspace side by side would only fight over the processors.
    step "flake check" nix flake check --print-build-logs --max-jobs 1 "${override[@]}" "$flake"
    step "nix build" nix build --no-link "${override[@]}" "$flake"
    step "nix build .#coder-core" nix build --no-link "${override[@]}" "$flake#coder-core"
    step "nix run .#microcoder -- --version" version_is_right
    step "nix run . -- demo" demo_runs
    step "nix develop" nix develop "${override[@]}" "$flake" --command cargo --version
    if [ ${#override[@]} != 0 ]; then step "sandboxed" sandboxed_build; fi
    step "flake.lock is untouched" git -C "$nix/source" diff --exit-code --stat

    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
