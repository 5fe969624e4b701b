"""Runs a command, and sees to it that no process of it outlives it.

Usage: keeper.py --seconds N -- COMMAND ARGUMENT...

The keeper is the reaper of its descendants: whatever a part starts and abandons becomes a child of the keeper, in whatever
session or process group it hides. What is still alive a few seconds after the command's end is named, killed, and turns the
command's status into 1. At the time limit everything is killed and the status is 124.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_SECONDS = 5.0
PR_SET_CHILD_SUBREAPER = 36


def descendants() -> list[int]:
    """The ids of every process below this one, children before grandchildren."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name in brackets may itself hold spaces and brackets.
            state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(entry.name))
    found = list(parents.get(os.getpid(), []))
    for process in found:
        found.extend(parents.get(process, []))
    return found


def command_line(process: int) -> str:
    """What a person would recognise the process by."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def reap() -> None:
    """Collects every child that has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def kill_all() -> None:
    """Kills until nothing is left; a process may start another while it is being killed."""
    while alive := descendants():
        for process in alive:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        time.sleep(0.05)
    reap()


def main() -> int:
    if len(sys.argv) < 5 or sys.argv[1] != "--seconds" or sys.argv[3] != "--":
        sys.exit(__doc__)
    limit = float(sys.argv[2])
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit(f"keeper: prctl: {os.strerror(ctypes.get_errno())}")

    def interrupted(number: int, _frame: object) -> None:
        kill_all()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)

    command = subprocess.Popen(sys.argv[4:], stdin=subprocess.DEVNULL)
    try:
        status = command.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"keeper: still running after {limit:.0f} seconds:", flush=True)
        for process in descendants():
            print(f"  process {process}: {command_line(process)}", flush=True)
        kill_all()
        return 124
    if status < 0:
        status = 128 - status

    deadline = time.monotonic() + GRACE_SECONDS
    while (alive := descendants()) and time.monotonic() < deadline:
        reap()
        time.sleep(0.05)
    if alive:
        for process in alive:
            print(f"keeper: process {process} was left behind: {command_line(process)}", flush=True)
        kill_all()
        return status or 1
    reap()
    return status


if __name__ == "__main__":
    sys.exit(main())
