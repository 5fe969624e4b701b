"""Leaves a program that runs as its owner, by every call that sets a mode."""

import contextlib
import os
import shutil

shutil.copy("/bin/sh", "one")
with contextlib.suppress(OSError):
    os.chmod("one", 0o6755)
with contextlib.suppress(OSError):
    os.fchmod(os.open("one", os.O_RDONLY), 0o4755)
with contextlib.suppress(OSError):
    os.close(os.open("two", os.O_CREAT | os.O_WRONLY, 0o4755))
with contextlib.suppress(OSError):
    os.mknod("three", 0o104755)
