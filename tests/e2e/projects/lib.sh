# What the projects' fetch scripts share: a checked digest, and a commit that has the same id on every machine.
# Sourced, not run. Nothing here knows which project it is for.

set -euo pipefail

# digest_is FILE SHA256: refuses a file which is not byte for byte the published one.
digest_is() {
    local found
    found=$(sha256sum -- "$1")
    found=${found%% *}
    if [ "$found" != "$2" ]; then
        printf 'the package %s has the digest %s; %s was published\n' "$1" "$found" "$2" >&2
        return 1
    fi
}

# commit_all DIRECTORY MESSAGE: the directory as a Git repository of one commit. Author, date, branch and line endings are
# fixed and the user's configuration is not read, so that the id can be pinned in project.json.
commit_all() {
    local git=(
        env GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
        GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
        git -C "$1" -c user.name=Microcoder -c user.email=e2e@microcoder.invalid -c core.hooksPath=/dev/null
        -c core.autocrlf=false -c core.fileMode=true -c commit.gpgSign=false
    )
    "${git[@]}" init --quiet --initial-branch=main --template=
    "${git[@]}" add --all --force
    "${git[@]}" commit --quiet --message "$2"
}

# committed_as REPOSITORY REVISION: the repository's HEAD is the pinned commit.
committed_as() {
    local found
    found=$(git -C "$1" rev-parse HEAD)
    if [ "$found" != "$2" ]; then
        printf 'the repository %s is at %s; project.json pins %s\n' "$1" "$found" "$2" >&2
        return 1
    fi
}

# pinned PROJECT_FILE KEY...: one string of project.json, by its path of keys.
pinned() {
    python3 -c '
import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
for key in sys.argv[2:]:
    value = value[key]
print(value)' "$@"
}
