"""A command leaves a link under the name that the host will write its report to."""

import os
import subprocess
from pathlib import Path

host, access, outside = os.environ["MICROCODER"], os.environ["ACCESS"], os.environ["OUTSIDE"]
subprocess.run([host, "exec", "--access", access, "--", "ln", "-s", f"{outside}/notes", "report.json"], check=False)
subprocess.run([host, "exec", "--access", access, "--report", Path("report.json"), "--", "true"], check=False)
