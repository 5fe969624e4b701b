"""Follows forty links, the last of which leads out."""

import os
from pathlib import Path

previous = os.environ["OUTSIDE"]
for number in range(39):
    Path(f"l{number}").symlink_to(previous)
    previous = str(Path(f"l{number}").absolute())
print(Path(previous, "secret").read_text())
