"""Importing costs nothing: no thread, no descriptor, no signal handler, nothing changed. And the names are these."""

import json
import subprocess
import sys

import coder_core

LOOK = """
import json, os, signal, sys

def state():
    handlers = {number.name: str(signal.getsignal(number)) for number in signal.Signals}
    return [len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), handlers, sorted(os.environ)]

before = state()
import coder_core
print(json.dumps([before, state()]))
"""


def test_importing_does_nothing() -> None:
    output = subprocess.run([sys.executable, "-c", LOOK], check=True, capture_output=True, text=True).stdout  # noqa: S603
    before, after = json.loads(output)
    assert after == before


def test_an_unused_import_ends_at_once_in_any_thread() -> None:
    script = "import threading; threading.Thread(target=__import__, args=('coder_core',)).start()"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)  # noqa: S603


def test_every_public_name_is_there_and_no_other() -> None:
    public = {name for name in dir(coder_core) if not name.startswith("_")} - {"documents"}
    assert public == set(coder_core.__all__) - {"__version__"}
