"""Somebody exchanges the workspace for a link to the home while the command runs, and the command then writes by name."""

import os
import subprocess
import time
from pathlib import Path

host, access, person = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["PERSON"]
place = Path(os.environ["WORLD"], "tmp")
(place / "workspace").mkdir()
command = f": >{place}/workspace/begun; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; echo owned >>{place}/workspace/.bashrc; done"
running = subprocess.Popen([host, "exec", "--access", access, "--", "/bin/sh", "-c", command], cwd=place / "workspace")
while running.poll() is None and not (place / "workspace/begun").exists():
    time.sleep(0.01)
(place / "workspace").rename(place / "moved")
(place / "workspace").symlink_to(person)
running.wait()
