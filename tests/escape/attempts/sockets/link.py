"""Speaks to the container engine through a link in the workspace."""

import os
import socket

os.symlink(os.environ["SOCKETS"] + "/docker.sock", "here")
socket.socket(socket.AF_UNIX).connect("here")
