# What every part runs in: one target folder, an empty home, a temporary folder of its own, no colour, and no network once the
# set-up is done. Sourced by tests/run; expects $root.

logs=$root/target/tests
part_limit=${MICROCODER_TESTS_PART_SECONDS:-2400}

export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export CARGO_TARGET_DIR=$root/target CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never
export NO_COLOR=1 PY_COLORS=0 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR=${PIP_CACHE_DIR:-$HOME/.cache/pip}
export LC_ALL=C.UTF-8 TZ=UTC
unset RUSTFLAGS GIT_DIR GIT_WORK_TREE

# A version manager's python3 is a script that looks into HOME: take the interpreter itself.
if interpreter=$(python3 -c 'import sys; print(sys.base_prefix)' 2>/dev/null) && [ -x "$interpreter/bin/python3" ]; then
    export PATH=$interpreter/bin:$PATH
fi

# Under /tmp and short, because the name of a unix socket has at most 107 bytes. Open to all, because some tests change the user.
scratch=$(mktemp -d /tmp/microcoder.XXXXXX) || exit 1
export HOME=$scratch/home TMPDIR=$scratch/tmp
mkdir "$HOME" "$TMPDIR"
chmod 755 "$scratch"
chmod 1777 "$TMPDIR"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Makes cargo and pip refuse the network, so a part that needs it fails here and not only where there is none.
go_offline() { export CARGO_NET_OFFLINE=true PIP_NO_INDEX=1; }

# Prints what a part left in its own folders, then empties them, so that the next part is not blamed for it.
left_behind() {
    local mounted
    # A cache is what a home is for; anything else there would have landed in the user's home.
    (cd "$HOME" && find . -mindepth 1 -not -path './.cache*' -printf 'file: ~/%P\n')
    (cd "$TMPDIR" && find . -mindepth 1 -maxdepth 1 -printf 'file: $TMPDIR/%P\n')
    mounted=$(awk -v under="$scratch/" 'index($5, under) == 1 { print $5 }' /proc/self/mountinfo)
    if [ -n "$mounted" ]; then
        sed 's/^/mount: /' <<<"$mounted"
        xargs -d '\n' umount --lazy <<<"$mounted"
    fi
    find "$HOME" "$TMPDIR" -mindepth 1 -delete 2>/dev/null
}

# Prints what only the user may change: the mounts, and the state of the work tree.
outside_state() {
    awk '{ print "mount: " $5 }' /proc/self/mountinfo | sort
    git status --porcelain --untracked-files=all | sed 's/^/work tree: /'
}
