"""Speaks to a port of the host, whatever the environment says of proxies."""

import socket
import sys

socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).sendall(b"owned")
