"""Takes a gigabyte and touches it, in one process; then holds it for a moment."""

import mmap
import time

held = []
for _ in range(64):
    piece = mmap.mmap(-1, 1 << 24, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece[:] = bytes(1 << 24)
    held.append(piece)
time.sleep(0.5)
