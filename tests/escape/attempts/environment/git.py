"""The caller's environment leads Git to a program; the host runs Git after the command."""

import os
import subprocess
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
payload = Path("run")
payload.write_text(f"#!/bin/sh\necho owned >>{outside}/notes\n")
payload.chmod(0o755)
poison = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": str(payload.absolute()),
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": os.getcwd(),
    "GIT_EXTERNAL_DIFF": str(payload.absolute()),
    "GIT_SSH_COMMAND": str(payload.absolute()),
    "GIT_PAGER": str(payload.absolute()),
}
commit = "echo x >>notes.txt; git -c user.name=a -c user.email=a@x.invalid commit -qam x"
for environment in (poison, {"GIT_DIR": os.getcwd()}, {"GIT_EXEC_PATH": os.getcwd()}):
    subprocess.run(
        [host, "exec", "--access", access, "--", "sh", "-c", commit],
        env=os.environ | environment, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
