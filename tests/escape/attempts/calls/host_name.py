"""Gives the machine another name."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
name = os.environ["MARK"].encode()
libc.sethostname(name, len(name))
libc.setdomainname(name, len(name))
