#!/usr/bin/env bash
# Many launches at once leave nothing: starts 1,000 `microcoder exec -- true` together, waits for all, and looks for a
# process, a mount, a directory or a file of theirs. Prints what it found and how long it took, and exits 1 if anything is
# left or any launch failed.
# Usage: benches/parallel.sh [LAUNCHES]
# Needs: cargo, python3.
set -euo pipefail
cd "$(dirname "$0")/.."
launches=${1:-1000}

[[ -n ${MICROCODER:-} ]] || cargo build --quiet --release -p coder-cli
microcoder=$(realpath "${MICROCODER:-${CARGO_TARGET_DIR:-target}/release/microcoder}")
# Not in /tmp, which is private inside: a workspace is shown where it really is.
work=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$work"' EXIT
mkdir "$work/workspace" "$work/home" "$work/tmp"

python3 - "$launches" "$microcoder" "$work" <<'PYTHON'
import ctypes, os, subprocess, sys, time

launches, microcoder, work = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PR_SET_CHILD_SUBREAPER = 36
# Whatever outlives its launch becomes a child of this process, and is seen.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
environment = {"PATH": "/usr/bin:/bin", "HOME": f"{work}/home", "TMPDIR": f"{work}/tmp"}

began = time.monotonic()
running = [
    subprocess.Popen([microcoder, "exec", "--", "true"], cwd=f"{work}/workspace", env=environment,
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(launches)
]
failed = []
for process in running:
    said = process.communicate()[0]
    if process.returncode != 0:
        failed.append(f"status {process.returncode}: {said.decode(errors='replace').strip()}")
took = time.monotonic() - began

left = []
try:
    process, _ = os.waitpid(-1, os.WNOHANG)
    left.append(f"process {process or 'of a launch'}")
except ChildProcessError:
    pass
for process in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{process}/mountinfo", errors="replace") as mounts:
            if any(work in line for line in mounts):
                left.append(f"mount in the namespace of process {process}")
    except OSError:
        continue  # It ended meanwhile.
# A scratch that is kept in shared memory has its link here, too.
for directory, directories, files in os.walk(work):
    left += [os.path.join(directory, name) for name in directories + files]
for name in ("workspace", "home", "tmp"):
    left.remove(f"{work}/{name}")

print(f"{launches} launches at once: {took:.1f} s, {len(failed)} failed, {len(left)} things left")
for line in (failed + left)[:20]:
    print(f"  {line}")
sys.exit(1 if failed or left else 0)
PYTHON
