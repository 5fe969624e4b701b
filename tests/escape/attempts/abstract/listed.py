"""Knocks at every abstract socket of this machine that bears the world's name."""

import contextlib
import os
import socket
from pathlib import Path

names = {f"@{os.environ['MARK']}-bus"}
with contextlib.suppress(OSError):
    names |= {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "@" + os.environ["MARK"] in line}
for name in sorted(names):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        with contextlib.suppress(OSError):
            socket.socket(socket.AF_UNIX, kind).connect("\0" + name[1:])
