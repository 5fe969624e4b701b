"""Asks the proxy for each address; where there is no proxy, the address itself."""

import os
import socket
import sys

proxy = os.environ.get("HTTPS_PROXY", "").removeprefix("http://").rstrip("/")
for address in sys.argv[1:]:
    host, _, port = (proxy or address).rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), 5) as client:
        client.sendall(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        if proxy:
            print(client.recv(100))
