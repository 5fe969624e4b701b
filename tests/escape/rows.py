"""The two tables as checked values: every attempt at getting out, and everything that must work.

A row that names an unknown class, kind of harm or file is refused here, before anything runs. It starts nothing.
"""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import tomllib

HERE = Path(__file__).resolve().parent
CLASSES = (
    "protected file absent at start",
    "planted symlinks",
    "hooks and config",
    "rename over or of a protected directory",
    "hard links",
    "path-named unix sockets",
    "abstract sockets",
    "/proc tricks",
    "loader tricks",
    "ptrace, process_vm, pidfd, io_uring",
    "proxy parser differences",
    "environment poisoning",
    "tool layer outside the sandbox",
    "silent degradation",
    "deny rules that never match",
    "predictable temp paths",
    "TOCTOU on policy and paths",
    "container boundary",
    "exhaustion",
    "grader tampering",
)
HARMS = ("read", "write", "steering", "listener", "victim", "survivor", "machine", "ran", "exhausted", "verdict")
STAGES = ("plain", "checkout", "worktree")
MODES = ("boundary", "toolchains", "full")
USERS = ("root", "ordinary")
# From the least to everything, as the program under test names them.
LEVELS = ("system_calls", "landlock", "namespaces", "complete")
RUNS = ("inside", "host", "candidate")


class RowError(Exception):
    """What is wrong with a table, and where."""


@dataclass(frozen=True)
class Attempt:
    """One attempt: what it does, where it was seen, and how its success would show from outside."""

    id: str
    # One of CLASSES, and the CVE, report or design it comes from.
    kind: str
    source: str
    # A file below attempts/, and its arguments.
    program: str
    # What the attempt meets when it fails, in words for the reader.
    expects: str
    # The kinds of harm that show its success; any other harm counts as an escape too.
    harm: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    stage: str = "plain"
    runs: str = "inside"
    # Further arguments of `microcoder exec`, with {OUTSIDE} and the like.
    options: tuple[str, ...] = ()
    # Who can succeed without the boundary. Where nobody can be let try, why not.
    control: tuple[str, ...] = USERS
    no_control: str = ""
    # Access modes that give by promise what this attempt is after, and why.
    allowed: dict[str, str] = field(default_factory=dict)
    # Sets of layers without which it succeeds.
    without: tuple[tuple[str, ...], ...] = ()
    # The least level that holds it: below, what stops it is not there.
    least: str = "namespaces"
    # Whether full access holds it too.
    full: bool = False

    @property
    def path(self) -> Path:
        return HERE / "attempts" / self.program


@dataclass(frozen=True)
class Work:
    """One thing that must succeed inside."""

    id: str
    # A file below works/, and its arguments.
    program: str
    # What it shows, in words for the reader.
    shows: str
    arguments: tuple[str, ...] = ()
    stage: str = "plain"
    options: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("boundary", "toolchains")
    users: tuple[str, ...] = USERS
    # Programs it is about; where one is missing, the row says so.
    needs: tuple[str, ...] = ()
    # What every program of it must have printed at its end.
    seconds: int = 60

    @property
    def path(self) -> Path:
        return HERE / "works" / self.program


Row = TypeVar("Row", Attempt, Work)


def checked(kind: type, table: str, row: dict[str, Any]) -> Any:
    """A row with lists as tuples; unknown or missing names are refused."""
    known = {entry.name for entry in fields(kind)}
    name = row.get("id", "without an id")
    if unknown := sorted(row.keys() - known):
        raise RowError(f"{table}: {name}: unknown: {', '.join(unknown)}")

    def frozen(value: Any) -> Any:
        return tuple(frozen(item) for item in value) if isinstance(value, list) else value

    try:
        return kind(**{key: frozen(value) for key, value in row.items()})
    except TypeError as error:
        raise RowError(f"{table}: {name}: {error}") from error


def one_of(row: str, what: str, values: tuple[str, ...], known: tuple[str, ...]) -> None:
    if wrong := [value for value in values if value not in known]:
        raise RowError(f"{row}: {what} {', '.join(wrong)}: none of {', '.join(known)}")


def attempts() -> list[Attempt]:
    rows: list[Attempt] = []
    for path in sorted((HERE / "attempts").glob("*.toml")):
        table = tomllib.loads(path.read_text())
        for row in table["attempt"]:
            one = checked(Attempt, path.name, {"kind": table["kind"], **row})
            where = f"{path.name}: {one.id}"
            one_of(where, "class", (one.kind,), CLASSES)
            one_of(where, "harm", one.harm, HARMS)
            one_of(where, "stage", (one.stage,), STAGES)
            one_of(where, "runs", (one.runs,), RUNS)
            one_of(where, "control", one.control, USERS)
            one_of(where, "least", (one.least,), LEVELS)
            one_of(where, "allowed", tuple(one.allowed), MODES)
            if not one.harm or not (one.source and one.expects):
                raise RowError(f"{where}: harm, source and expects must say something")
            if bool(one.no_control) == bool(one.control):
                raise RowError(f"{where}: either somebody succeeds without the boundary, or it says why nobody can be let try")
            rows.append(one)
    return unique(rows)


def works() -> list[Work]:
    rows: list[Work] = []
    for row in tomllib.loads((HERE / "works/works.toml").read_text())["work"]:
        one = checked(Work, "works.toml", row)
        one_of(one.id, "stage", (one.stage,), STAGES)
        one_of(one.id, "modes", one.modes, MODES)
        one_of(one.id, "users", one.users, USERS)
        rows.append(one)
    return unique(rows)


def unique(rows: list[Row]) -> list[Row]:
    for row in rows:
        if not row.path.is_file():
            raise RowError(f"{row.id}: there is no {row.path.relative_to(HERE)}")
        if sum(row.id == other.id for other in rows) > 1:
            raise RowError(f"{row.id}: stands twice")
    return rows
