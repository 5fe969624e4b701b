"""Loads a library from outside, by its name and through a link."""

import ctypes
import os

os.symlink(os.environ["OUTSIDE"] + "/library.so", "library.so")
ctypes.CDLL("./library.so")
