"""Takes the place of the hooks: away with the directory if it is there, and back with a hook in it."""

import contextlib
import shutil
from pathlib import Path

hooks = Path(".git/hooks")
with contextlib.suppress(OSError):
    hooks.rename(".git/was")
with contextlib.suppress(OSError):
    shutil.rmtree(hooks)
hooks.mkdir(exist_ok=True)
(hooks / "post-checkout").write_text("#!/bin/sh\necho owned\n")
