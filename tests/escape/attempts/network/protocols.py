"""Speaks to a port of the host by what a rule for plain TCP connections does not see."""

import contextlib
import socket
import sys

address = ("127.0.0.1", int(sys.argv[1]))
with contextlib.suppress(OSError):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(address)
with contextlib.suppress(OSError):
    socket.socket(socket.AF_INET).sendto(b"owned", 0x20000000, address)
