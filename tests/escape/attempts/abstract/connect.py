"""Speaks to a service of the person's by its abstract name."""

import os
import socket
import sys

name, kind = sys.argv[1:]
kinds = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET}
address = "\0" + os.environ["MARK"] + "-" + name
client = socket.socket(socket.AF_UNIX, kinds[kind])
if kind == "datagram":
    client.sendto(b"owned", address)
else:
    client.connect(address)
