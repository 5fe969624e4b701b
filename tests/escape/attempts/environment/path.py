"""The workspace holds a `git`, and the caller's search path begins with places of the workspace."""

import os
import subprocess
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
for folder in (Path("bin"), Path()):
    folder.mkdir(exist_ok=True)
    for name in ("git", "sh", "tar"):
        (folder / name).write_text(f"#!/bin/bash\necho owned >>{outside}/notes\n")
        (folder / name).chmod(0o755)
commit = "echo x >>notes.txt; /usr/bin/git -c user.name=a -c user.email=a@x.invalid commit -qam x"
for before in (os.getcwd() + "/bin:", ".:", ":", "bin:"):
    subprocess.run(
        [host, "exec", "--access", access, "--", "/bin/sh", "-c", commit],
        env=os.environ | {"PATH": before + os.environ["PATH"]}, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
