"""While the command runs, it makes the directory of the host's report a link that leads out."""

import os
import subprocess

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
os.mkdir("reports")
command = f"mv reports was; ln -s {outside} reports"
subprocess.run([host, "exec", "--access", access, "--report", "reports/notes", "--", "/bin/sh", "-c", command], check=False)
