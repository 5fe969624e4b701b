"""Gives a file outside a second name in the workspace and writes through it."""

import os
from pathlib import Path

os.link(os.environ["OUTSIDE"] + "/notes", "mine")
Path("mine").write_text("owned\n")
