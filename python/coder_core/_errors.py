"""The exceptions of `coder_core`. The class says where a failure came from, the code exactly what it was."""


class CoderError(Exception):
    """What was refused or failed.

    Attributes:
        code: What happened, in snake_case. It never changes between versions; programs compare this.
        message: What was wrong, where, and what to do, for people. It may change.
    """

    def __init__(self, code: str, message: str) -> None:
        """Keep the code and the message."""
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Both in one line, as the command line has them."""
        return f"{self.message} ({self.code})"


class Refused(CoderError):  # noqa: N818 - nothing failed: a grant was refused before anything ran
    """A grant was refused before anything ran and before anything was recorded."""


class StoreError(CoderError):
    """The task store refused a command, or does not have what was asked for."""


class TraceError(CoderError):
    """The trace of a run cannot be read."""


class WorkspaceError(CoderError):
    """A workspace or its repository cannot be used, or a kept file is damaged."""


class BoundaryError(CoderError):
    """A boundary cannot be made, holds less than it promises, or a command in it could not be started."""


for _class in (CoderError, Refused, StoreError, TraceError, WorkspaceError, BoundaryError):
    _class.__module__ = "coder_core"
