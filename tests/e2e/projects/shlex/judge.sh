#!/usr/bin/env bash
# judge.sh JUDGE: run with the candidate, which is read only, as the working directory. Cargo writes its lock file beside the
# manifest, so the crate is copied to scratch; there its own suite runs, and the tests in JUDGE with it.
set -euo pipefail
judge=$1
crate=$(mktemp -d)
trap 'rm -rf "$crate"' EXIT
cp -R . "$crate/"
mkdir -p "$crate/tests"
cp "$judge"/*.rs "$crate/tests/"
cd "$crate"
CARGO_TARGET_DIR=$crate/target CARGO_NET_OFFLINE=true cargo test --quiet --offline
