"""Sends a message whose address is in the message."""

import os
import socket

socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b"owned"], [], 0, "\0" + os.environ["MARK"] + "-log")
