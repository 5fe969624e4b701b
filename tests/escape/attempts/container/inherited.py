"""The caller has a directory of the host open when it starts the command."""

import os
import subprocess

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
descriptors = [os.open(outside, os.O_RDONLY), os.open(outside + "/secret", os.O_RDONLY), os.open("/", os.O_PATH)]
for descriptor in descriptors:
    os.set_inheritable(descriptor, True)
look = (
    f'for d in /proc/self/fd/*; do cat $d/secret $d{outside}/secret "$d"/../outside/secret; done; for d in 3 4 5 6 7 8 9; do cat <&$d; done'
)
subprocess.run([host, "exec", "--access", access, "--", "/bin/bash", "-c", look], check=False, close_fds=False, stderr=-3)
