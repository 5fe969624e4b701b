#!/bin/sh
# Adds up a ledger: lines of `NAME AMOUNT` on standard input, one `NAME TOTAL` line per name on standard output, sorted.
set -eu

while read -r name amount; do
    case $name in
    '' | '#'*) continue ;;
    esac
    printf '%s %s\n' "$name" "$amount"
done | sort | {
    current='' total=0
    while read -r name amount; do
        if [ "$name" != "$current" ]; then
            [ -z "$current" ] || printf '%s %s\n' "$current" "$total"
            current=$name total=0
        fi
        total=$((total + amount))
    done
    [ -z "$current" ] || printf '%s %s\n' "$current" "$total"
}
