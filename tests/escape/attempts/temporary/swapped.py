"""Replaces everything that appears in the temporary directory by a link to the home, as fast as it can."""

import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
place = Path(os.environ["TMPDIR"])
over = threading.Event()
# What a host that knows its name beforehand would run into.
with contextlib.suppress(OSError):
    (place / "bare-scratch").symlink_to(outside + "/notes")


def swap() -> None:
    while not over.is_set():
        for name in os.listdir(place):
            if not (place / name).is_symlink():
                with contextlib.suppress(OSError):
                    (place / name).rename(place / f"moved-{name}") if not name.startswith("moved-") else None
                    (place / name).symlink_to(outside)


swapper = threading.Thread(target=swap)
swapper.start()
for _ in range(10):
    subprocess.run(
        [host, "exec", "--access", access, "--", "/bin/sh", "-c", "echo x >$HOME/x; echo x >$TMPDIR/x"], check=False, capture_output=True
    )
over.set()
swapper.join()
shutil.rmtree(place, ignore_errors=True)
place.mkdir(exist_ok=True)
