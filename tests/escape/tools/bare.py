#!/usr/bin/python3
"""A host as a careless person would write it, with the caller's rights and environment for everything.

`bare.py exec [OPTIONS] -- CMD…` runs a command, `bare.py run [OPTIONS]` plays a recorded conversation and has the result judged. It
stands in for `microcoder` when it has to be shown that an attempt made from outside would succeed without the boundary.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def option(words: list[str], name: str) -> str | None:
    return words[words.index(name) + 1] if name in words else None


def execute(options: list[str], command: list[str]) -> int:
    told = dict(word.removeprefix("--env=").split("=", 1) for word in options if word.startswith("--env="))
    # A predictable name in a directory that others may write to.
    Path(os.environ["TMPDIR"], "bare-scratch").write_text("scratch\n")
    status = subprocess.call(command, env=os.environ | told, close_fds=False)
    if report := option(options, "--report"):
        Path(report).write_text('{"ending": "exited"}\n')
    # What a host does afterwards with a repository: it looks what changed.
    if Path(".git").exists():
        subprocess.call(["git", "status", "--porcelain"], stdout=subprocess.DEVNULL)
    return status


def run(options: list[str]) -> int:
    repository, script, judge = (option(options, f"--{name}") for name in ("repo", "script", "check"))
    assert repository is not None and script is not None
    shown = []
    for name in ("AGENTS.md",):
        if Path(repository, name).exists():
            shown.append(Path(repository, name).read_text())
    for turn in json.loads(Path(script).read_text())["turns"]:
        for command in turn["reply"]["commands"]:
            subprocess.call(["/bin/bash", "-c", command], cwd=repository, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in turn["reply"]["view"]:
            if (path := Path(repository, name)).is_file():
                shown.append(path.read_text())
    # The candidate, as a careless host keeps it: whatever a name leads to.
    shown += [path.read_text(errors="replace") for path in Path(repository).iterdir() if path.is_file()]
    verdict = "none"
    if judge is not None:
        said = subprocess.run([judge, "sha256:0"], cwd=repository, check=False, capture_output=True, text=True).stdout
        verdict = next((json.loads(line)["verdict"] for line in reversed(said.splitlines()) if line.startswith("{")), "unavailable")
    print(json.dumps({"task": {"checks": verdict}, "shown": shown}))
    return 0


def main() -> int:
    words = sys.argv[2:]
    cut = words.index("--") if "--" in words else len(words)
    return run(words) if sys.argv[1] == "run" else execute(words[:cut], words[cut + 1 :])


if __name__ == "__main__":
    sys.exit(main())
