"""Typed Python interface to Microcoder: run coding agents under an exact grant, with evidence.

`run_repository` runs one grant to its result. `Store` submits tasks and looks at what became of them. `Boundary` runs
single commands behind the same walls. `snapshot` observes a tree. `verify_attestation` checks what
`Store.export` states, without the store. What the store answers are the JSON documents of the
command line, as typed dicts; `coder_core.documents` describes them. Every failure is a `CoderError` with a stable code.

Every call lets other Python threads run. `Store`, `Boundary` and the functions may be used from many threads at once.
"""

from coder_core._core import (
    Boundary,
    Store,
    __version__,
    generate_key,
    run_repository,
    snapshot,
    verify_attestation,
)
from coder_core._errors import BoundaryError, CoderError, Refused, StoreError, TraceError, WorkspaceError
from coder_core._values import Completed, Entry, Snapshot
from coder_core.documents import AttestationVerification, Receipt, Summary, Task, Verification, View

__all__ = [
    "AttestationVerification",
    "Boundary",
    "BoundaryError",
    "CoderError",
    "Completed",
    "Entry",
    "Receipt",
    "Refused",
    "Snapshot",
    "Store",
    "StoreError",
    "Summary",
    "Task",
    "TraceError",
    "Verification",
    "View",
    "WorkspaceError",
    "__version__",
    "generate_key",
    "run_repository",
    "snapshot",
    "verify_attestation",
]
