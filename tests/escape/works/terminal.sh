# Programs that want a terminal get one.
set -e
script -qec 'tty && stty size && test -t 0 && test -t 1' /dev/null >/dev/null </dev/null
python3 - <<'P'
import os, pty
child, master = pty.fork()
if child == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && read line </dev/tty && echo got $line"])
os.write(master, b"typed\n")
seen = b""
try:
    while piece := os.read(master, 1024):
        seen += piece
except OSError:
    pass
assert b"got typed" in seen, seen
assert os.waitpid(child, 0)[1] == 0
P
echo works
