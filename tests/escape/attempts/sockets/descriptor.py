"""Looks for a directory from which the socket can be named: each inherited descriptor, and the way up from it."""

import contextlib
import os
import socket

way = os.environ["SOCKETS"].lstrip("/")
for descriptor in os.listdir("/proc/self/fd"):
    for up in ("", "../../../../../"):
        with contextlib.suppress(OSError):
            socket.socket(socket.AF_UNIX).connect(f"/proc/self/fd/{descriptor}/{up}{way}/bus")
for start in ("/proc/self/root", "/proc/self/cwd/../../../../..", "/proc/1/root"):
    with contextlib.suppress(OSError):
        os.chdir(start)
        socket.socket(socket.AF_UNIX).connect(f"{way}/bus")
