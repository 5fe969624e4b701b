"""Becomes two, each of which becomes two, eleven times: more than any bound, and no more than a machine survives."""

import contextlib
import os
import time

for _ in range(11):
    with contextlib.suppress(OSError):
        os.fork()
time.sleep(600)
