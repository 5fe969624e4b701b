"""Leaves a message queue that every process of the machine could find by its name."""

import ctypes
import os

library = ctypes.CDLL("librt.so.1", use_errno=True)
library.mq_open(b"/" + os.environ["MARK"].encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
