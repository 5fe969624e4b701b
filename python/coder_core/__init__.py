"""Typed Python interface to Microcoder: run coding agents under an exact grant, with evidence.

`run_repository` and `run_bounded` carry out one grant to its result, `start` in a process that outlives this one.
`Store` submits, corrects, stops, continues, checks and recovers tasks and looks at what became of them. `Boundary` runs
single commands behind the same walls. `snapshot` observes a tree. `verify_attestation` checks what `Store.export`
states, without the store. What the store answers are the JSON documents of the command line, as typed dicts;
`coder_core.documents` describes them. Every failure is a `CoderError` with a stable code.

Every call lets other Python threads run. `Store`, `Boundary` and the functions may be used from many threads at once.
"""

from coder_core._core import (
    Boundary,
    Store,
    __version__,
    generate_key,
    run_bounded,
    run_repository,
    snapshot,
    start,
    verify_attestation,
)
from coder_core._errors import BoundaryError, CoderError, Refused, StoreError, TraceError, WorkspaceError
from coder_core._values import Completed, Entry, Snapshot
from coder_core.documents import (
    Archived,
    AttestationVerification,
    Collected,
    JournalHead,
    Pending,
    Receipt,
    Recovered,
    Steered,
    Summary,
    Task,
    Verification,
    View,
)

__all__ = [
    "Archived",
    "AttestationVerification",
    "Boundary",
    "BoundaryError",
    "CoderError",
    "Collected",
    "Completed",
    "Entry",
    "JournalHead",
    "Pending",
    "Receipt",
    "Recovered",
    "Refused",
    "Snapshot",
    "Steered",
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
    "run_bounded",
    "run_repository",
    "snapshot",
    "start",
    "verify_attestation",
]
