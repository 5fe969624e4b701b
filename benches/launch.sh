#!/usr/bin/env bash
# What the boundary adds to a command: `microcoder exec -- true` less the start of the same program and of a bare `true`,
# whole processes, preparing included, beside Debian's bubblewrap with the same namespaces and the same paths shown. What
# a bare `true` costs a small process is what it adds to a shell. Full access is no measure: it asks the login shell for
# its environment and has a guard of its own. What `exec` does besides (its arguments, the directory, the report) counts
# as the boundary's, about a millisecond, so the figure is an upper bound. The forms take turns, so that a busy machine
# slows all alike. Prints a table, writes it to benches/results/launch.md, and exits 1 when the boundary misses its bar.
# Usage: benches/launch.sh [RUNS]
# Needs: cargo, python3, bubblewrap. As root the loop runs at real-time priority, so that other work disturbs it less.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-300}

command -v bwrap >/dev/null || { echo "bubblewrap is missing: apt-get install bubblewrap" >&2; exit 2; }
[[ -n ${MICROCODER:-} ]] || cargo build --quiet --release -p coder-cli
microcoder=$(realpath "${MICROCODER:-${CARGO_TARGET_DIR:-target}/release/microcoder}")
# Not in /tmp, which is private inside: a workspace is shown where it really is.
work=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$work"' EXIT
mkdir "$work/workspace" "$work/home"

priority=()
if chrt -f 50 true 2>/dev/null; then priority=(chrt -f 50); fi
mkdir -p benches/results
"${priority[@]}" python3 - "$runs" "$microcoder" "$work" "${priority[*]:-none}" <<'PYTHON' | tee benches/results/launch.md
import datetime, os, platform, statistics, subprocess, sys, time

runs, microcoder, work, priority = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
BAR = 1500
workspace, true = f"{work}/workspace", "/usr/bin/true"

# What the boundary shows, as bubblewrap takes it. It has no filter of system calls and no Landlock.
bubble = ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
          "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
          "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
          "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
          "--tmpfs", "/tmp", "--tmpfs", "/home/agent", "--bind", workspace, workspace, "--chdir", workspace]
for name in ("alternatives", "fonts", "ld.so.conf.d", "ssl/certs", "ld.so.cache", "passwd", "group", "hosts",
             "nsswitch.conf", "services", "profile"):
    if os.path.exists(f"/etc/{name}"):
        bubble += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]

forms = {
    "start": [microcoder, "--version"],
    "boundary": [microcoder, "exec", "--", true],
    "shell": ["/bin/sh", "-c", ":"],
    "shell and true": ["/bin/sh", "-c", f"{true}; :"],
    "true alone": [true],
    "bubblewrap": [*bubble, true],
}
environment = {"PATH": "/usr/bin:/bin", "HOME": f"{work}/home"}
taken = {name: [] for name in forms}
for turn in range(runs + 5):
    for name, argv in forms.items():
        start = time.perf_counter_ns()
        subprocess.run(argv, check=True, cwd=workspace, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if turn >= 5:
            taken[name].append((time.perf_counter_ns() - start) / 1000)

def part(name, share):
    return sorted(taken[name])[min(runs - 1, int(runs * share))]

median = {name: statistics.median(values) for name, values in taken.items()}

def added(of):
    return of["boundary"] - of["start"] - (of["shell and true"] - of["shell"])

cost = added(median)
quarter = added({name: part(name, 0.25) for name in forms})
other = median["bubblewrap"] - median["true alone"]
with open("/proc/cpuinfo") as lines:
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
load = os.getloadavg()[0]
print("# What the boundary adds to a command\n")
print(f"{datetime.date.today()}, Linux {platform.release()}, {os.cpu_count()} x {model}, load {load:.1f}, "
      f"priority: {priority}. {runs} runs of each form by turns; microseconds of the whole process.\n")
print("| form | median | p25 | p99 |\n|---|--:|--:|--:|")
for name in forms:
    print(f"| {name} | {median[name]:.0f} | {part(name, 0.25):.0f} | {part(name, 0.99):.0f} |")
print(f"\n- the boundary adds: {cost:.0f} (bar: {BAR}); by p25: {quarter:.0f}")
print(f"- bubblewrap less `true` alone: {other:.0f}; the boundary costs {cost / other:.2f} of it (bar: below 1)")
met = cost <= BAR and cost < other
print(f"- the bar is {'met' if met else 'missed'}")
sys.stdout.flush()
sys.exit(0 if met else 1)
PYTHON
