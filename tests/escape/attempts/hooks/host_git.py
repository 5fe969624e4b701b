"""A command leaves everything that a Git run by the host could obey; each would write outside if it ran there."""

import os
import subprocess
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
payload = f"#!/bin/sh\necho owned >>{outside}/notes\n"
script = f"""
mkdir -p planted && printf '%s' '{payload}' >planted/run && chmod 755 planted/run
for hook in post-checkout pre-commit post-commit reference-transaction post-index-change fsmonitor-watchman pre-auto-gc; do
    mkdir -p "$(git rev-parse --git-dir)/hooks"; cp planted/run "$(git rev-parse --git-dir)/hooks/$hook"
    cp planted/run "$(git rev-parse --git-common-dir)/hooks/$hook"
done
git config extensions.worktreeConfig true
for key in core.fsmonitor core.hooksPath filter.p.clean filter.p.smudge core.sshCommand diff.external core.editor gc.auto; do
    git config "$key" "$PWD/planted/run"; git config --worktree "$key" "$PWD/planted/run"
done
printf '* filter=p diff=p\\n' >.gitattributes
printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ext::%s\\n\\tupdate = !%s\\n' "$PWD/planted/run" "$PWD/planted/run" >.gitmodules
git -c user.name=a -c user.email=a@x.invalid add -A; git -c user.name=a -c user.email=a@x.invalid commit -qm planted
"""
subprocess.run([host, "exec", "--access", access, "--", "sh", "-c", script], check=False, stderr=subprocess.DEVNULL)
Path("second").write_text("x")
subprocess.run([host, "exec", "--access", access, "--", "git", "status", "--porcelain"], check=False, stdout=subprocess.DEVNULL)
