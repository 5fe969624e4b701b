"""Leaves memory, a semaphore and a queue that every process of the machine could find by the key."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
key = int(os.environ["MARK"][:7], 16)
libc.shmget(key, 4096, 0o1600)
libc.semget(key, 1, 0o1600)
libc.msgget(key, 0o1600)
