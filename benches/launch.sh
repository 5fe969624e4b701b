#!/usr/bin/env bash
# What a boundary costs: medians of 300 runs of `true`, bare, in a boundary prepared once, in one prepared for each run,
# and in Debian's bubblewrap with the same namespaces and the same paths shown. The four take turns, so that a busy
# machine slows all alike.
# Usage: benches/launch.sh [RUNS]    Needs: cargo, bubblewrap. Exits 1 when the boundary misses its bar.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-300}
rounds=10
bar_microseconds=1500

command -v bwrap >/dev/null || { echo "bubblewrap is missing: apt-get install bubblewrap" >&2; exit 2; }
cargo build --quiet --release -p coder-boundary --example launch
launch=${CARGO_TARGET_DIR:-target}/release/examples/launch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/workspace" "$work/home" "$work/tmp"

# The same view as the boundary's: bubblewrap has no filter of system calls, no Landlock, and drops capabilities itself.
bubble=(--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin
  --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64
  --proc /proc --dev /dev --bind "$work/tmp" /tmp --bind "$work/home" /home/agent
  --bind "$work/workspace" "$work/workspace" --chdir "$work/workspace")
for name in alternatives fonts ssl/certs ld.so.cache passwd group hosts nsswitch.conf; do
  [[ -e /etc/$name ]] && bubble+=(--ro-bind "/etc/$name" "/etc/$name")
done

for ((round = 0; round < rounds; round++)); do
  for form in bare boundary fresh; do
    "$launch" "$form" $((runs / rounds)) "$work/workspace" /bin/true >>"$work/$form"
  done
  "$launch" bare $((runs / rounds)) "$work/workspace" "$(command -v bwrap)" "${bubble[@]}" /bin/true >>"$work/bubblewrap"
done

quantile() { sort -n "$work/$1" | awk -v part="$2" '{ value[NR] = $1 } END { print value[int((NR - 1) * part) + 1] }'; }
printf '%-12s %9s %9s %9s   (microseconds, %s runs)\n' "" median p10 p90 "$(wc -l <"$work/bare")"
for form in bare boundary fresh bubblewrap; do
  printf '%-12s %9s %9s %9s\n' "$form" "$(quantile "$form" 0.5)" "$(quantile "$form" 0.1)" "$(quantile "$form" 0.9)"
done
cost=$(($(quantile boundary 0.5) - $(quantile bare 0.5)))
other=$(($(quantile bubblewrap 0.5) - $(quantile bare 0.5)))
echo "boundary minus bare: $cost us (bar: $bar_microseconds); bubblewrap minus bare: $other us"
((cost <= bar_microseconds && cost < other))
