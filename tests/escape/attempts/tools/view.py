"""The model asks to be shown a file that lies outside, after a command has prepared the way."""

import os
import sys

import agent

agent.repository({})
before = [sys.argv[2].replace("$OUTSIDE", os.environ["OUTSIDE"])] if len(sys.argv) > 2 else []
agent.run([(before, []), ([], [sys.argv[1]]), (["true"], [])])
