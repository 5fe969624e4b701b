"""Removes and replaces objects of the repository."""

import contextlib
import os
from pathlib import Path

for file in Path(os.environ["PROJECT"], ".git/objects").rglob("*"):
    with contextlib.suppress(OSError):
        file.chmod(0o644)
        file.write_bytes(b"owned")
    with contextlib.suppress(OSError):
        file.unlink()
