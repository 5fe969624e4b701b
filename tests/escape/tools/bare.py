#!/usr/bin/python3
"""A host as a careless person would write it: `bare.py exec [OPTIONS] -- CMD…` runs CMD with the caller's rights and environment.

It stands in for `microcoder` when it has to be shown that an attempt made from outside would succeed without the boundary.
"""

import os
import subprocess
import sys
from pathlib import Path


def main() -> int:
    options, command = sys.argv[2:], sys.argv[2:]
    if "--" in options:
        cut = options.index("--")
        options, command = options[:cut], options[cut + 1 :]
    status = subprocess.call(command, env=os.environ | dict(word[6:].split("=", 1) for word in options if word[:6] == "--env="))
    if "--report" in options:
        Path(options[options.index("--report") + 1]).write_text('{"ending": "exited"}\n')
    # What a host does afterwards with a repository: it looks what changed.
    if Path(".git").exists():
        subprocess.call(["git", "status", "--porcelain"], stdout=subprocess.DEVNULL)
    return status


if __name__ == "__main__":
    sys.exit(main())
