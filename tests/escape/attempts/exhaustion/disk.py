"""Fills every private place until nothing more goes in, up to four gigabytes."""

import contextlib
import os

for place in (os.environ["TMPDIR"], os.environ["HOME"], "/dev/shm", "/dev", "/", "/run/agent"):
    with contextlib.suppress(OSError), open(place + "/fill-" + os.environ["MARK"], "wb") as file:
        for _ in range(256):
            file.write(bytes(1 << 24))
