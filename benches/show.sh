#!/usr/bin/env bash
# What a look at one task costs, whole process, in a store with as much as it may hold in use: `coder task show` on 1,000 tasks
# with 2,000 commands, beside `coder task list`, a submission, and a program that does nothing. The forms take turns, so that a
# busy machine slows all alike. Prints a table, writes it to benches/results/show.md, and exits 1 when `show` misses its bar.
# Usage: benches/show.sh [RUNS]
# Needs: cargo, python3. As root the loop runs at real-time priority, so that other work disturbs it less.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-300}

[[ -n ${CODER:-} ]] || cargo build --quiet --release -p coder-cli --bin coder
coder=$(realpath "${CODER:-${CARGO_TARGET_DIR:-target}/release/coder}")
work=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$work"' EXIT

priority=()
if chrt -f 50 true 2>/dev/null; then priority=(chrt -f 50); fi
mkdir -p benches/results
"${priority[@]}" python3 - "$runs" "$coder" "$work" "${priority[*]:-none}" <<'PYTHON' | tee benches/results/show.md
import datetime, json, os, platform, statistics, subprocess, sys, time

runs, coder, work, priority = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
BAR, TASKS = 15_000, 1000
store = f"{work}/store"
environment = {"PATH": "/usr/bin:/bin", "HOME": work}


def call(*arguments, given=None):
    done = subprocess.run([coder, "task", *arguments, "--store", store], input=given, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def submit(number):
    intent = {"title": f"Task {number}", "prompt": "Fix the parser.\n" * 20,
              "workspace": {"path": f"/trees/{number}", "source_revision": None},
              "configuration": {"adapter": "microcoder-repository", "model": "a-model"}}
    command = {"schema": "openagents.coder.task-command.v1", "command_id": f"s-{number}", "task_id": f"t-{number}",
               "expected_revision": None, "action": {"type": "submit", "intent": intent}}
    call("submit", "--file", "-", given=json.dumps(command).encode())


for number in range(TASKS):
    submit(number)
    call("correct", f"t-{number}", "--prompt", "Fix the lexer.", "--reason", "wrong file")

taken = {"show": [], "list": [], "exact submission again": [], "true alone": []}
for turn in range(runs + 5):
    forms = {
        "show": [coder, "task", "show", f"t-{turn * 37 % TASKS}", "--store", store],
        "list": [coder, "task", "list", "--store", store],
        "true alone": ["/usr/bin/true"],
    }
    for name, argv in forms.items():
        start = time.perf_counter_ns()
        subprocess.run(argv, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if turn >= 5:
            taken[name].append((time.perf_counter_ns() - start) / 1000)
    start = time.perf_counter_ns()
    submit(turn % TASKS)
    if turn >= 5:
        taken["exact submission again"].append((time.perf_counter_ns() - start) / 1000)


def part(name, share):
    return sorted(taken[name])[min(runs - 1, int(runs * share))]


held = statistics.median(taken["show"]) <= BAR
bytes_held = sum(entry.stat().st_size for entry in os.scandir(store))
model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
print("# What a look at one task costs\n")
print(f"{datetime.date.today()}, Linux {platform.release()}, {os.cpu_count()} x {model}, load {os.getloadavg()[0]:.1f}, "
      f"priority: {priority}. {runs} runs of each form by turns; microseconds of the whole process. The store: {TASKS} tasks, "
      f"{2 * TASKS} commands, {bytes_held / 1e6:.1f} MB.\n")
print("| form | median | p25 | p99 |\n|---|--:|--:|--:|")
for name in taken:
    print(f"| {name} | {statistics.median(taken[name]):.0f} | {part(name, 0.25):.0f} | {part(name, 0.99):.0f} |")
print(f"\n- `show`: {statistics.median(taken['show']) / 1000:.1f} ms at the median (bar: {BAR / 1000:.0f} ms)")
print("- the bar is " + ("met" if held else "missed"))
sys.exit(not held)
PYTHON
