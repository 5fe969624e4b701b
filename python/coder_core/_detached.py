"""The program of a detached start: carries out one kept grant and says what came of it, on its standard output.

It is started by its path, isolated, from a process that may be gone by now, so it loads the package it belongs to and
no other of that name. A signal to stop ends the run as an interrupt does: the result is recorded, and the task printed.
"""

import importlib.util
import json
import signal
import sys
from pathlib import Path
from types import ModuleType

# As the command line ends after a refusal, and after what is no use of it.
_REFUSED = 1
_USAGE = 64


def _package() -> ModuleType:
    place = Path(__file__).parent
    found = importlib.util.spec_from_file_location(
        "coder_core", place / "__init__.py", submodule_search_locations=[str(place)]
    )
    if found is None or found.loader is None:
        message = f"{place} holds no Python package"
        raise ImportError(message)
    package = importlib.util.module_from_spec(found)
    sys.modules["coder_core"] = package
    found.loader.exec_module(package)
    return package


def _say(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _main(arguments: list[str]) -> int:
    core = _package()
    kinds = {"execute": core.run_bounded, "repository": core.run_repository}
    match arguments:
        case [kind, "--grant", grant, "--store", store] if kind in kinds:
            pass
        case _:
            return _USAGE
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, signal.default_int_handler)
    try:
        task = kinds[kind](grant, store=store)
    except core.CoderError as error:
        _say({"error": {"code": error.code, "message": error.message}})
        return _REFUSED
    except KeyboardInterrupt:
        task_id = json.loads(Path(grant).read_text(encoding="utf-8"))["task_id"]
        task = core.Store(store).show(task_id)
    _say(task)
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
