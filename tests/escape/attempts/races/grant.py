"""A granted path is now an innocent directory, now a link to the store, which is denied."""

import contextlib
import os
import subprocess
import threading
from pathlib import Path

host, access, person = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["PERSON"]
place = Path(os.environ["WORLD"], "tmp")
(place / "innocent").mkdir()
(place / "innocent/task-1.atif.jsonl").write_text("nothing\n")
(place / "name").symlink_to("innocent")
over = threading.Event()


def swap() -> None:
    while not over.is_set():
        for target in ("innocent", f"{person}/.openagents/tasks"):
            with contextlib.suppress(OSError):
                (place / "next").symlink_to(target)
                (place / "next").replace(place / "name")


swapper = threading.Thread(target=swap)
swapper.start()
for _ in range(12):
    look = f"cat {place}/name/task-1.atif.jsonl {place}/innocent/task-1.atif.jsonl {person}/.openagents/tasks/task-1.atif.jsonl"
    subprocess.run([host, "exec", "--access", access, "--read", str(place / "name"), "--", "/bin/sh", "-c", look], check=False, stderr=-3)
over.set()
swapper.join()
