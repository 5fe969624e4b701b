"""A listed address is reached through the gateway by CONNECT and by SOCKS, and nothing else is."""

import os
import socket
import struct

proxy, port = os.environ["HTTPS_PROXY"].removeprefix("http://").rstrip("/"), int(os.environ["TCP"])
host, _, at = proxy.rpartition(":")
with socket.create_connection((host, int(at)), 10) as client:
    client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert client.recv(100).split()[1] == b"200"
with socket.create_connection((host, int(at)), 10) as client:
    client.sendall(b"\5\1\0")
    assert client.recv(2) == b"\5\0"
    client.sendall(b"\5\1\0\1\x7f\0\0\1" + struct.pack(">H", port))
    assert client.recv(2) == b"\5\0"
with socket.create_connection((host, int(at)), 10) as client:
    client.sendall(b"CONNECT other.invalid:443 HTTP/1.1\r\nHost: other.invalid:443\r\n\r\n")
    assert client.recv(100).split()[1] == b"403"
print("works")
