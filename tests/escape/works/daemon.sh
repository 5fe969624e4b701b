# Report 13: a daemon that left its session and its parent ends with the command; what lives on is seen from outside.
(setsid sh -c 'trap "" HUP TERM; sleep 600 & exec sleep 600' </dev/null >/dev/null 2>&1 &)
nohup sleep 600 >/dev/null 2>&1 &
python3 - <<'P'
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for name in range(3):
            os.close(name)
        time.sleep(600)
    os._exit(0)
os.wait()
P
echo works
