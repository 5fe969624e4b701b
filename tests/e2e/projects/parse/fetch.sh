#!/usr/bin/env bash
# fetch.sh REPOSITORY JUDGE: the source distribution at the version with the bug as a Git repository, and the test suite of
# the version that fixed it as the judge's tests. pip downloads both and checks their digests, and so do we.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
repository=$1 judge=$2
name=$(pinned "$here/project.json" name)

packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT

# download PACKAGE VERSION_KEY: the checked source distribution's path.
download() {
    local version sha256
    version=$(pinned "$here/project.json" "$2")
    sha256=$(pinned "$here/project.json" "$1" sha256)
    printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" >"$packages/requirement"
    "${PYTHON:-python3}" -m pip download --quiet --no-binary :all: --no-deps --require-hashes \
        --dest "$packages" --requirement "$packages/requirement" >&2
    digest_is "$packages/$name-$version.tar.gz" "$sha256"
    printf '%s\n' "$packages/$name-$version.tar.gz"
}

package=$(download package version)
fixed=$(download fixed_package fixed_in)

mkdir -p "$repository" "$judge"
tar --extract --gzip --strip-components=1 --no-same-owner --directory "$repository" --file "$package"
commit_all "$repository" "$name $(pinned "$here/project.json" version), as published"
committed_as "$repository" "$(pinned "$here/project.json" revision)"
tar --extract --gzip --strip-components=1 --no-same-owner --directory "$judge" --file "$fixed" \
    "$name-$(pinned "$here/project.json" fixed_in)/test_parse.py"
