"""Gives the machine another name: not the one that people see, since without the boundary this succeeds."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
name = os.environ["MARK"].encode()
libc.setdomainname(name, len(name))
