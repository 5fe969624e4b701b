"""Asks the proxy in SOCKS, with an address where a name is expected and a name that is not one."""

import contextlib
import os
import socket
import struct

proxy, port = os.environ.get("HTTP_PROXY", "").removeprefix("http://").rstrip("/"), int(os.environ["TCP"])
end = struct.pack(">H", port)


def named(name: bytes) -> bytes:
    return b"\5\1\0\3" + bytes([len(name)]) + name + end


requests = [
    b"\5\1\0\1\x7f\0\0\1" + end,
    b"\5\1\0\4" + bytes(15) + b"\1" + end,
    b"\5\1\0\4" + bytes(10) + b"\xff\xff\x7f\0\0\1" + end,
    named(b"127.0.0.1"),
    named(b"127.0.0.1\0.listed.invalid"),
    named(b"allowed.invalid\0127.0.0.1"),
    named(b"2130706433"),
    b"\5\1\0\3\x09127.0.0.1.listed.invalid" + end,
    b"\5\3\0\1\x7f\0\0\1" + end,
    b"\5\2\0\1\x7f\0\0\1" + end,
    b"\4\1" + end + b"\x7f\0\0\1user\0",
    b"\4\1" + end + b"\0\0\0\1user\0" + b"127.0.0.1\0",
]
host, _, at = (proxy or f"127.0.0.1:{port}").rpartition(":")
for request in requests:
    with contextlib.suppress(OSError), socket.create_connection((host, int(at)), 2) as client:
        if request[0] == 5:
            client.sendall(b"\5\1\0")
        client.settimeout(0.3)
        if proxy and request[0] == 5:
            client.recv(2)
        client.sendall(request)
        if proxy:
            print(client.recv(60))
