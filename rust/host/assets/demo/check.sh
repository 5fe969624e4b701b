#!/bin/sh
# The independent check of the demonstration: it is not part of the repository, the agent never saw it, and it runs with
# the candidate read-only. Run with the candidate as the working directory.
set -u
fail() { echo "failed: $*" >&2; exit 1; }

sh tests/run.sh >/dev/null || fail "the project's own tests"
[ "$(printf 'a 1\nb 2\na 3' | sh ./tally.sh)" = "a 4
b 2" ] || fail 'a ledger that ends without a newline'
[ "$(printf 'only 7' | sh ./tally.sh)" = 'only 7' ] || fail 'a ledger of one unfinished line'
[ "$(printf 'a 1\n\n# note\n' | sh ./tally.sh)" = 'a 1' ] || fail 'blank lines and comments'
( : >./written-by-the-check ) 2>/dev/null && fail 'the candidate was writable'
echo passed
