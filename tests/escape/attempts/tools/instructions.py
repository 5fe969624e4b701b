"""The repository's instruction file is a link to what the model is not to see."""

import os

import agent

agent.repository({"AGENTS.md": "-> " + os.environ["OUTSIDE"] + "/secret"})
agent.run([(["true"], [])])
