"""Plain requests whose parts name different hosts, and requests hidden in the body of others."""

import contextlib
import os
import socket

proxy, port = os.environ.get("HTTP_PROXY", "").removeprefix("http://").rstrip("/"), os.environ["TCP"]
listed, wanted = f"allowed.invalid:{port}", f"127.0.0.1:{port}"
hidden = f"GET http://{wanted}/ HTTP/1.1\r\nHost: {wanted}\r\n\r\n"
requests = [
    f"GET http://{listed}/ HTTP/1.1\r\nHost: {wanted}\r\n\r\n",
    f"GET / HTTP/1.1\r\nHost: {wanted}\r\n\r\n",
    f"GET http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\nHost: {wanted}\r\n\r\n",
    f"GET http://{listed}@{wanted}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n",
    f"GET http://{wanted}\\@{listed}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n",
    f"GET http://{wanted}#@{listed}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n",
    f"GET http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\n : {wanted}\r\n\r\n",
    f"GET //{wanted}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n",
    f"POST http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
    f"POST http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\nContent-Length: 4\r\nContent-Length: 99\r\n\r\nbody{hidden}",
    f"GET http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n{hidden}",
    f"GET http://{listed}/ HTTP/1.1\nHost: {listed}\n\n{hidden}",
    f"GET ftp://{wanted}/ HTTP/1.1\r\nHost: {wanted}\r\n\r\n",
]
host, _, at = (proxy or wanted).rpartition(":")
for request in requests:
    with contextlib.suppress(OSError), socket.create_connection((host, int(at)), 2) as client:
        client.sendall(request.encode())
        if proxy:
            client.settimeout(0.3)
            print(client.recv(60))
