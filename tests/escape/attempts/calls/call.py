"""One system call against the person's process, by its number: nothing of the C library stands in between."""

import ctypes
import fcntl
import os
import platform
import re
import resource
import signal
import socket
import sys
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
victim = int(os.environ["VICTIM"])
# The same on every architecture from 424 on.
numbers = {"x86_64": {"ptrace": 101, "readv": 310, "writev": 311}, "aarch64": {"ptrace": 117, "readv": 270, "writev": 271}}[
    platform.machine()
]


class Piece(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def call(number: int, *arguments: object) -> int:
    value = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if value < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    return value


def writable() -> list[tuple[int, int]]:
    lines = Path(f"/proc/{victim}/maps").read_text().splitlines()
    spans = [[int(number, 16) for number in line.split()[0].split("-")] for line in lines if "rw" in line.split()[1]]
    return [(start, end - start) for start, end in spans if end - start < 1 << 24]


def transfer(number: int, local: ctypes.Array, start: int, size: int) -> int:
    here, there = Piece(ctypes.addressof(local), size), Piece(start, size)
    return libc.syscall(ctypes.c_long(number), victim, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def vm(write: bool) -> None:
    for start, size in writable():
        local = ctypes.create_string_buffer(size)
        if transfer(numbers["readv"], local, start, size) < 0:
            continue
        if found := re.search(rb"canary-[0-9a-f]{24}", local.raw):
            print(found.group() if not write else "found")
            if write:
                transfer(numbers["writev"], ctypes.create_string_buffer(b"owned"), start + found.start(), 5)
                return


match sys.argv[1]:
    case "ptrace":
        # Seized, and stays so while the world looks: a child that the attempt leaves behind holds it.
        if os.fork() == 0:
            call(numbers["ptrace"], 16, victim, 0, 0)
            os.setsid()
            os.close(1)
            os.close(2)
            signal.pause()
        signal.sigtimedwait([signal.SIGCHLD], 0.5)
    case "process_vm_readv":
        vm(write=False)
    case "process_vm_writev":
        vm(write=True)
    case "pidfd_getfd":
        print(os.pread(call(438, call(434, victim, 0), 2, 0), 100, 0))
    case "pidfd_send_signal":
        call(424, call(434, victim, 0), signal.SIGUSR1, None, 0)
    case "kill":
        os.kill(victim, signal.SIGUSR2)
    case "owner":
        # A socket that has something to read sends its owner a signal.
        one, other = socket.socketpair()
        fcntl.fcntl(one, fcntl.F_SETOWN, victim)
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b"x")
    case "prlimit":
        resource.prlimit(victim, resource.RLIMIT_NOFILE, (3, 3))
    case "priority":
        os.setpriority(os.PRIO_PROCESS, victim, 19)
        os.sched_setaffinity(victim, {min(os.sched_getaffinity(0))})
