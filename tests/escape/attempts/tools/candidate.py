"""The candidate holds links, hard and soft, by name and by directory; the host keeps what changed."""

import os

import agent

agent.repository({})
outside = os.environ["OUTSIDE"]
links = f"ln -s {outside}/secret soft; ln {outside}/secret hard; ln -s {outside} folder; ln -sf {outside}/secret answer.txt"
agent.run([([links], [])])
