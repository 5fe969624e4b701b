"""Ignores what can be ignored, in sessions of their own, some of them stopped."""

import os
import signal
import time

for number in range(8):
    if os.fork() == 0:
        os.setsid()
        for name in range(1, 65):
            if name not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                signal.signal(name, signal.SIG_IGN)
        if number % 2:
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
time.sleep(600)
