"""The command types a line into the terminal it was started from; a shell outside would run it."""

import os
import pty
import select
import time

host, access = os.environ["MICROCODER"], os.environ["ACCESS"]
code = "import fcntl\nfor letter in b': >ran\\n': fcntl.ioctl(0, 0x5412, bytes([letter]))"
child, master = pty.fork()
if child == 0:
    os.environ["CODE"] = code
    # The shell that started the command reads the next line from the same terminal.
    shell = f'{host} exec --access {access} -- /usr/bin/python3 -c "$CODE"; read -t 1 line; eval "$line"'
    os.execv("/bin/bash", ["bash", "-c", shell])
deadline = time.monotonic() + 4
while time.monotonic() < deadline:
    if select.select([master], [], [], 0.2)[0]:
        try:
            if not os.read(master, 1024):
                break
        except OSError:
            break
os.close(master)
