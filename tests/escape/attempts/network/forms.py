"""Speaks to a port of the host by every way to write its address."""

import contextlib
import socket
import sys

for host in (
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "127.0.0.1.",
    "127.8.8.8",
    "0",
):
    with contextlib.suppress(OSError):
        socket.create_connection((host, int(sys.argv[1])), 2).sendall(b"owned")
