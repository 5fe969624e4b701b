#!/bin/sh
# The project's own tests, in TAP. Run from the repository's root: sh tests/run.sh
set -u
count=0 failed=0

check() { # NAME INPUT EXPECTED
    count=$((count + 1))
    actual=$(printf "$2" | sh ./tally.sh)
    if [ "$actual" = "$(printf "$3")" ]; then
        echo "ok $count - $1"
    else
        failed=$((failed + 1))
        echo "not ok $count - $1"
        echo "# expected: $(printf "$3" | tr '\n' '|')"
        echo "# actual:   $(echo "$actual" | tr '\n' '|')"
    fi
}

check 'an empty ledger has no totals' '' ''
check 'amounts of one name are added' 'rent 10\nrent 5\n' 'rent 15\n'
check 'names are sorted and comments skipped' '# May\nrent 1\nfood 2\nrent 3\n' 'food 2\nrent 4\n'
check 'the last line counts without a newline' 'food 2\nrent 3' 'food 2\nrent 3\n'

echo "1..$count"
[ "$failed" -eq 0 ]
