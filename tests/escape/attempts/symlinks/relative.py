"""Leaves the workspace by `..`, alone, through a link, and through a directory that was moved meanwhile."""

import contextlib
from pathlib import Path

Path("deep/deeper").mkdir(parents=True)
Path("deep/link").symlink_to("../../outside")
for way in (
    "../outside/secret",
    "deep/link/secret",
    "deep/deeper/../../../outside/secret",
    "./././../outside/./secret",
):
    with contextlib.suppress(OSError):
        print(Path(way).read_text())
