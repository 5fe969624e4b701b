"""Makes a name from an open descriptor, and writes through it."""

import os
from pathlib import Path

descriptor = os.open(os.environ["OUTSIDE"] + "/shown/readable", os.O_RDONLY)
# Only with a directory does Python ask for the link to be followed.
os.link(str(descriptor), "mine", src_dir_fd=os.open("/proc/self/fd", os.O_RDONLY), follow_symlinks=True)
Path("mine").write_text("owned\n")
