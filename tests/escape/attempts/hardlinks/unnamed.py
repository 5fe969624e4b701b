"""Makes a hook without a name, and then gives it the one that Git looks for."""

import os

descriptor = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o755)
os.write(descriptor, b"#!/bin/sh\necho owned\n")
# Only with a directory does Python ask for the link to be followed.
os.link(str(descriptor), ".git/hooks/pre-commit", src_dir_fd=os.open("/proc/self/fd", os.O_RDONLY), follow_symlinks=True)
