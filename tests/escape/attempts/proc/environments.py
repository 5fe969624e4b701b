"""Reads the environment of every process there is."""

import contextlib
import os
from pathlib import Path

for process in {os.environ["VICTIM"], *(name for name in os.listdir("/proc") if name.isdigit())}:
    with contextlib.suppress(OSError):
        print(Path("/proc", process, "environ").read_bytes())
