"""The values that the extension makes: plain, immutable, picklable. Paths are `str` as `os.fsdecode` gives them."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from coder_core.documents import CommandReport, Enforced

Ending = Literal["exited", "signalled", "unknown", "deadline_exceeded", "cancelled", "output_limit", "stopped"]


@dataclass(frozen=True)
class Completed:
    """How a command in a boundary ended, what it wrote and what really held it.

    Attributes:
        exit_code: The status, if the command exited by itself; `None` whatever else ended it.
        signal: The number of the signal that ended the command's own process, whoever sent it.
        ending: Why the command is over. `deadline_exceeded` after `timeout`.
        stdout: What was kept of standard output: its beginning and, beyond `output_limit`, its end.
        stderr: What was kept of standard error, likewise.
        stdout_bytes: How many bytes the command wrote to standard output.
        stderr_bytes: How many bytes it wrote to standard error.
        stdout_gap: The offsets in the stream between which bytes were not kept, or `None` if all were.
        stderr_gap: The same of standard error.
        seconds: From the call to the end.
        tree_clear: Whether it is proved that no process of the command is left.
        enforced: What really held the command, as the kernel reported it.
        report: The whole report, as `microcoder exec --report` writes it.
    """

    exit_code: int | None
    signal: int | None
    ending: Ending
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    stdout_gap: tuple[int, int] | None
    stderr_gap: tuple[int, int] | None
    seconds: float
    tree_clear: bool
    enforced: Enforced
    report: CommandReport

    @property
    def truncated(self) -> bool:
        """Whether some output was not kept."""
        return self.stdout_gap is not None or self.stderr_gap is not None


class Entry(NamedTuple):
    """One path of a snapshot.

    Attributes:
        path: Relative to the root; the root itself is `""`.
        kind: `directory`, `file`, `symlink`, or the word for anything else, such as `fifo`.
        mode: The low twelve bits of the mode.
        length: Bytes of a file's content; `None` for anything else.
        digest: The SHA-256 of a file's content in hexadecimal; `None` for anything else.
        target: What a symbolic link holds; `None` for anything else.
    """

    path: str
    kind: str
    mode: int
    length: int | None
    digest: str | None
    target: str | None


@dataclass(frozen=True)
class Snapshot:
    """A whole directory tree as it was observed. Times are no part of it: the same tree later gives an equal value.

    Attributes:
        root: The canonical path that was observed.
        digest: The SHA-256, in hexadecimal, that names this observation in grants and results. Times do not enter it.
        entries: Every path, sorted by path components.
        complete: Whether the whole tree was observed. An incomplete snapshot identifies nothing.
        faults: What kept it from being complete; at most 64.
        omitted_faults: How many faults more there were.
        content_bytes: Bytes of file content in the tree.
    """

    root: str
    digest: str
    entries: tuple[Entry, ...]
    complete: bool
    faults: tuple[str, ...]
    omitted_faults: int
    content_bytes: int


for _class in (Completed, Entry, Snapshot):
    _class.__module__ = "coder_core"
