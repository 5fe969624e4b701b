"""Reads or changes the memory of the person's process through /proc/PID/mem."""

import contextlib
import os
import re
import sys
from pathlib import Path

folder = Path("/proc", os.environ["VICTIM"])
with open(folder / "mem", "rb+" if sys.argv[1] == "write" else "rb", buffering=0) as memory:
    for line in (folder / "maps").read_text().splitlines():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if "rw" not in line.split()[1] or end - start > 1 << 24:
            continue
        with contextlib.suppress(OSError, OverflowError):
            memory.seek(start)
            held = memory.read(end - start)
            for found in re.finditer(rb"canary-[0-9a-f]{24}", held):
                if sys.argv[1] == "read":
                    print(found.group())
                else:
                    memory.seek(start + found.start())
                    memory.write(b"owned")
                    # The first is the one; the other is what it is compared with.
                    sys.exit()
