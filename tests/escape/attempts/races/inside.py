"""One thread makes a name now a directory, now a link that leads out; the other reads through the name."""

import contextlib
import os
import threading
import time
from pathlib import Path

Path("plain").mkdir()
Path("plain/secret").write_text("nothing\n")
os.symlink(os.environ["OUTSIDE"], "leading")
over = threading.Event()


def swap() -> None:
    while not over.is_set():
        for target in ("plain", "leading"):
            with contextlib.suppress(OSError):
                os.symlink(target, "next")
                os.replace("next", "name")


swapper = threading.Thread(target=swap)
swapper.start()
begun, reads = time.monotonic(), 0
# On a loaded machine the threads may not meet for long.
while time.monotonic() < begun + 0.3 or (reads < 400 and time.monotonic() < begun + 5):
    reads += 1
    if reads % 20 == 0:
        time.sleep(0.006)
    with contextlib.suppress(OSError):
        if (text := Path("name/secret").read_text()) != "nothing\n":
            print(text)
            break
over.set()
swapper.join()
