"""Sends a question with the secret in its name, as to a name server."""

import socket
import sys

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"\0\1secret\7example", (sys.argv[1], int(sys.argv[2])))
