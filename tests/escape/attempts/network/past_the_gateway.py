"""Takes no notice of the proxy: every protocol to every form of the address."""

import contextlib
import os
import socket

for host in ("127.0.0.1", "0.0.0.0", "::1", "localhost"):
    for kind, port in (
        (socket.SOCK_STREAM, os.environ["TCP"]),
        (socket.SOCK_STREAM, os.environ["TCP6"]),
        (socket.SOCK_DGRAM, os.environ["UDP"]),
    ):
        with contextlib.suppress(OSError):
            family, _, _, _, address = socket.getaddrinfo(host, int(port), type=kind)[0]
            client = socket.socket(family, kind)
            client.settimeout(2)
            client.connect(address)
            client.send(b"owned")
