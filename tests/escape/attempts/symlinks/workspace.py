"""One command makes a directory of the workspace a link to the home; the next is run in it."""

import os
import subprocess

host, access, person = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["PERSON"]
run = [host, "exec", "--access", access]
os.mkdir("inner")
subprocess.run([*run, "--", "sh", "-c", f"rmdir inner; ln -s {person} inner"], check=False)
# The person names the workspace, and the directory to start in through the workspace.
subprocess.run([*run, "--", "sh", "-c", "cd inner && echo owned >>.bashrc"], check=False)
