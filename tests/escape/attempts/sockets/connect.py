"""Speaks to a service of the person's by the name of its socket."""

import os
import socket
import sys

name, kind = sys.argv[1:]
kinds = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET}
client = socket.socket(socket.AF_UNIX, kinds[kind])
client.connect(os.environ["SOCKETS"] + "/" + name)
client.send(b"owned")
