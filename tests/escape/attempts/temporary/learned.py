"""Learns which names the host uses in the temporary directory, and plants links under them."""

import os
import subprocess
import threading
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
place = Path(os.environ["TMPDIR"])
run = [host, "exec", "--access", access, "--", "/bin/true"]
seen: set[str] = set()
over = threading.Event()


def watch() -> None:
    while not over.is_set():
        seen.update(os.listdir(place))


watcher = threading.Thread(target=watch)
watcher.start()
for _ in range(3):
    subprocess.run(run, check=False)
over.set()
watcher.join()
for name in seen:
    subprocess.run(["rm", "-rf", place / name], check=False)
    (place / name).symlink_to(outside + "/notes")
for _ in range(3):
    subprocess.run(run, check=False)
