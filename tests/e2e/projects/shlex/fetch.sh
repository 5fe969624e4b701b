#!/usr/bin/env bash
# fetch.sh REPOSITORY JUDGE: the crate at the version with the bug as a Git repository, and the judge's tests beside it.
# Cargo downloads it, from whatever registry the machine's configuration names; the digest in project.json has to hold.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
repository=$1 judge=$2
name=$(pinned "$here/project.json" name)
version=$(pinned "$here/project.json" version)

asking=$(mktemp -d)
trap 'rm -rf "$asking"' EXIT
mkdir "$asking/src"
: >"$asking/src/lib.rs"
printf '[package]\nname = "asking"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n%s = "=%s"\n\n[workspace]\n' \
    "$name" "$version" >"$asking/Cargo.toml"
(cd "$asking" && cargo fetch --quiet)
packages=("${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$name-$version.crate")
digest_is "${packages[0]}" "$(pinned "$here/project.json" package sha256)"

mkdir -p "$repository" "$judge"
tar --extract --gzip --strip-components=1 --no-same-owner --directory "$repository" --file "${packages[0]}"
commit_all "$repository" "$name $version, as published"
committed_as "$repository" "$(pinned "$here/project.json" revision)"
cp "$here/judge/quoting.rs" "$judge/"
