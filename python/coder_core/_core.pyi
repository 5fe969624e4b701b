"""The extension. Import its names from `coder_core`."""

import builtins
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, final, overload

from typing_extensions import Self

from coder_core._values import Completed, Snapshot
from coder_core.documents import (
    Archived,
    AttestationVerification,
    BytePath,
    Collected,
    Cursor,
    Enforced,
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

_Name: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

__all__ = [
    "Boundary",
    "Store",
    "__version__",
    "generate_key",
    "run_bounded",
    "run_repository",
    "snapshot",
    "start",
    "verify_attestation",
]

__version__: Final[str]

def run_repository(grant: bytes | _Name, *, store: Store | _Name, deadline: float | None = None) -> Task:
    """Run one grant to its result.

    The grant is compared with the task, the workspace and this machine; only then the agent runs, in the foreground.
    When this returns, no process of the run is left unless the result says so, and the store holds the evidence.

    Args:
        grant: The exact bytes of the grant, or the path of the file that holds them (at most 64 KiB). Text is a path.
        store: The task store, which must exist.
        deadline: Seconds after which the run is cancelled, more than 0. The task's `cancellation_reason` then names the
            deadline, and what the run did until then is kept as usual. A deadline that passes before the grant is
            admitted leaves the task as it was, and its grant may be run again.

    Returns:
        The task as the journal then has it. Whatever went wrong after admission is in `task["run"]["result"]`.

    Raises:
        Refused: The grant does not fit. Nothing ran and nothing was recorded.
        StoreError: The store is missing, busy, full or damaged.
        WorkspaceError: The workspace or its repository cannot be used.
        BoundaryError: The machine cannot enforce what the grant needs.
        CoderError: With the code `stopped`: the deadline passed before the grant was admitted.
        KeyboardInterrupt: An interrupt came, in the main thread; raised after the run was cancelled and its result
            recorded. The same holds for whatever another signal handler raises.
    """

def run_bounded(grant: bytes | _Name, *, store: Store | _Name, deadline: float | None = None) -> Task:
    """Run the one command of a bounded-command grant to its end: `coder task execute`.

    Args:
        grant: The exact bytes of the grant, or the path of the file that holds them (at most 64 KiB). Text is a path.
            Its `adapter_configuration` is null; one with another is refused with the code `grant_field`.
        store: The task store, which must exist.
        deadline: Seconds after which the run is cancelled, more than 0, as for `run_repository`. The grant's own
            `wall_seconds` holds beside it.

    Returns:
        The task as the journal then has it. How the command ended is in `task["run"]["result"]`.

    Raises:
        Refused: The grant does not fit. Nothing ran and nothing was recorded.
        StoreError: The store is missing, busy, full or damaged.
        WorkspaceError: The workspace or its repository cannot be used.
        BoundaryError: The machine cannot enforce what the grant needs.
        CoderError: With the code `stopped`: the deadline passed before the grant was admitted.
        KeyboardInterrupt: An interrupt came, in the main thread; raised after the command was ended and its result
            recorded.
    """

def start(grant: bytes | _Name, *, store: Store | _Name) -> Pending:
    """Start one grant of either kind in a process of its own, which outlives this one.

    What can be found wrong without looking at the workspace is refused now. The process is this Python interpreter once
    more, in a session of its own and with the few variables that a run needs. Whether the grant was admitted is found
    out later: `Store.show` says when the task runs; if it stays queued, the last line of the file at `diagnostic_path`
    is the refusal, as JSON. SIGINT, SIGTERM and SIGHUP to the process cancel the run, as does `Store.cancel`.

    Args:
        grant: The exact bytes of the grant, or the path of the file that holds them (at most 64 KiB). Text is a path.
        store: The task store, which must exist.

    Raises:
        Refused: The grant does not fit the task, or its provider is not ready.
        StoreError: The store is missing; with the code `already_started` while an earlier start of the task lives.
        CoderError: With the code `configuration` where Python is embedded in another program.
    """

def snapshot(path: _Name) -> Snapshot:
    """Observe a whole directory tree, without ignore rules and without following links.

    Trouble inside the tree, and a root that cannot be opened, are faults of the snapshot and no errors: look at
    `complete`. At most 200,000 entries and 16 GiB of content.

    Raises:
        WorkspaceError: The machine gives no threads to work with.
    """

def verify_attestation(
    attestation: bytes, *, key: _Name | None = None, task_id: str | None = None
) -> AttestationVerification:
    """Verify a statement or signed envelope without its store: the signature, and that it does not contradict itself.

    The verdict is at best `consistent`: only `Store.verify` compares it with what was recorded.

    Args:
        attestation: The exact bytes.
        key: The file of the public key that must have signed it.
        task_id: The task that it must be of.

    Raises:
        TraceError: With code `bad_attestation` for what is no statement of this version.
        Refused: With code `bad_envelope`, or for a key that cannot be used.
    """

def generate_key(path: _Name) -> str:
    """Make a new Ed25519 key in the file `path` (mode 0600), its public half in `path` with `.pub`; give its name.

    Raises:
        Refused: With code `key_file` where one of the files exists or cannot be made.
    """

@final
class Store:
    """An open task store. One object serves many threads; after `os.fork` open another one in the child.

    Every method raises `StoreError` where the store refuses or fails, and `ValueError` for a malformed task name.
    """

    def __new__(cls, path: _Name, create: bool = False) -> Self:
        """Open the store in the directory `path`.

        Args:
            path: The store's directory.
            create: Make the store where there is none. The default refuses, with code `no_store`.

        Raises:
            StoreError: There is no store, it is not private to this user, damaged, or of a newer version.
        """

    @property
    def path(self) -> str:
        """The canonical path of the store."""

    def submit(self, command: bytes | dict[str, Any]) -> Receipt:
        """Give the store one command: `submit`, `cancel`, `correct` or `continue`.

        The receipt comes back once the record is durable. The same bytes again give the same receipt and change
        nothing. Nothing runs because of a command.

        Args:
            command: The exact bytes (at most 64 KiB of strict JSON), or a dict. A dict is written compact with sorted
                keys, so that equal dicts are equal commands.
        """

    def cancel(self, task_id: str, reason: str, *, command_id: str | None = None) -> Receipt:
        """Ask a task to stop, at whatever revision it is. A running one stops soon after; its owner records the result.

        Args:
            task_id: The task.
            reason: Why, for the record.
            command_id: The name of the command, to repeat exactly this request safely. A new one by default.
        """

    def correct(self, task_id: str, prompt: str, reason: str, *, command_id: str | None = None) -> Receipt:
        """Replace a task's prompt, at whatever revision it is. A run that is under way stops; a new grant goes on.

        Args:
            task_id: The task.
            prompt: The new prompt, at most 32 KiB.
            reason: Why, for the record, at most 2048 bytes.
            command_id: The name of the command, to repeat exactly this request safely. A new one by default.

        Raises:
            StoreError: With code `not_found`; `command_conflict` where the name was used for another request.
        """

    def continue_(self, task_id: str, prompt: str, *, command_id: str | None = None) -> Receipt:
        """Queue another turn of a finished or cancelled task, at whatever revision it is. A new grant runs it.

        Args:
            task_id: The task.
            prompt: The prompt of the turn, at most 32 KiB.
            command_id: The name of the command, to repeat exactly this request safely. A new one by default.

        Raises:
            StoreError: With code `invalid_transition` for a task that is not finished or whose checks run,
                `limit_exceeded` after 64 turns.
        """

    def steer(self, task_id: str, message: str) -> Steered:
        """Leave a message that the running task reads before its next step. It is on disk when this returns.

        Args:
            task_id: The task.
            message: At most 32 KiB; no control characters but line breaks and tabs.

        Raises:
            StoreError: With code `not_running` where no loop will read it, `invalid_message` for a text that is
                refused, `limit_exceeded` when a turn's messages fill 1 MiB.
        """

    def recover(self, task_id: str) -> Recovered:
        """Close what a vanished owner of the task left. Kills nothing and runs nothing again.

        A run is recorded as ended where it is proved that nothing of it is left, and what its commands had committed is
        taken over; otherwise the task stays unknown and keeps its tree. May wait ten seconds for processes that end.

        Raises:
            StoreError: With code `store_busy` where the owner lives.
        """

    def check(self, task_id: str, *, deadline: float | None = None) -> Task:
        """Run the independent checks that the task's grant pinned, once, on a read-only candidate.

        Args:
            task_id: The task, whose last run has a result.
            deadline: Seconds after which the checks are stopped, more than 0. They are then `unavailable`.

        Returns:
            The task; `task["checks"]` is the verdict, `task["run"]["report"]` what it rests on.

        Raises:
            StoreError: With code `invalid_transition` where there is nothing to check or it was checked before,
                `store_busy` while the task has an owner, `workspace_busy`. Nothing ran then.
            KeyboardInterrupt: An interrupt came, in the main thread; raised after the checks were recorded as
                unavailable.
        """

    def archive(
        self, task_ids: Iterable[str] | None = None, *, older_than: float | None = None
    ) -> builtins.list[Archived]:
        """Put finished or cancelled tasks away, so that they count for none of the store's bounds.

        Stops at the first that is refused; what was put away before it stays so.

        Args:
            task_ids: The tasks.
            older_than: Also every finished or cancelled task whose last step is at least so many seconds old.

        Raises:
            StoreError: With code `invalid_transition` for a task that is not finished or cancelled.
        """

    def restore(self, task_id: str) -> None:
        """Take a task out again that was put away; nothing where it was not.

        Raises:
            StoreError: With code `limit_exceeded` where the store has no room for it.
        """

    def gc(self, *, dry_run: bool = False, older_than: float = 86_400.0) -> Collected:
        """Clear away what nothing in the store names: what killed runs and writers left.

        Args:
            dry_run: Only say what would be removed.
            older_than: Leave what is younger than so many seconds.
        """

    def show(self, task_id: str) -> Task:
        """Look at a task."""

    def list(self, *, archived: bool = False) -> builtins.list[Summary]:
        """List the tasks, in the order they were submitted.

        Args:
            archived: Also those that were put away.
        """

    def view(self, task_id: str, limit: int = 100, cursor: Cursor | str | None = None) -> View:
        """Look at a task with one page of its evidence. Works at any time, also while the task runs.

        Args:
            task_id: The task.
            limit: The most steps of the page, 1 to 200.
            cursor: `view["evidence"]["next"]` of the page before, or its text.

        Raises:
            TraceError: With code `command_conflict` where the cursor is of another task or the evidence before it has
                changed, `bad_page_size` for the limit.
        """

    @overload
    def verify(
        self,
        task_id: str,
        *,
        head: JournalHead | str | None = None,
        attestation: None = None,
        key: None = None,
        document: None = None,
    ) -> Verification: ...
    @overload
    def verify(
        self,
        task_id: str | None = None,
        *,
        head: None = None,
        attestation: bytes,
        key: _Name | None = None,
        document: None = None,
    ) -> AttestationVerification: ...
    @overload
    def verify(
        self,
        task_id: str | None = None,
        *,
        head: None = None,
        attestation: None = None,
        key: None = None,
        document: bytes,
    ) -> Verification:
        """Re-derive everything about a task from the store alone and compare. A mismatch is an answer, not an error.

        Args:
            task_id: The task; with an attestation or a document, the task that it must be of.
            head: The `journal_head` of an earlier verification, or its text `POSITION:DIGEST`: nothing of what the
                store had then may be gone.
            attestation: A statement of `export` or the signed envelope around one: every subject and every field of its
                predicate is derived again and compared.
            key: The file of the public key that must have signed the attestation.
            document: A document of `export_atif`, compared with what the trace renders.

        Raises:
            TraceError: With code `bad_attestation` for what is neither.
            Refused: With code `bad_envelope`, or for a key that cannot be used.
        """

    @overload
    def export(self, task_id: str, format: Literal["atif"] = "atif") -> bytes: ...
    @overload
    def export(self, task_id: str, format: Literal["in-toto"], *, sign: _Name | None = None) -> bytes:
        """Get the exact bytes of a document about the task's current turn.

        Args:
            task_id: The task.
            format: `atif` for the trace, `in-toto` for a statement of what the run left and how it came to be.
            sign: The file of a private Ed25519 key: the statement comes in a signed DSSE envelope.

        Raises:
            StoreError: With code `absent` before there is such a document, `unverified` where the store contradicts
                itself.
            Refused: The key cannot be used.
        """

    def artifact(self, task_id: str, path: _Name | BytePath) -> bytes:
        """Get the exact bytes of one file that the run changed.

        Args:
            task_id: The task.
            path: Relative to the workspace, also as documents write it.

        Raises:
            StoreError: With code `absent` before there is a candidate.
            WorkspaceError: The path was not kept, or its bytes are damaged.
        """

    def patch(self, task_id: str) -> bytes:
        """Get the run's changes as a patch of Git's format, against the commit the run began with.

        Raises:
            StoreError: With code `absent` where there is none.
        """

    def export_atif(self, task_id: str) -> dict[str, Any]:
        """Get the whole trace as a document of the Agent Trajectory Interchange Format.

        Raises:
            StoreError: With code `absent` before the task was run.
            TraceError: The trace cannot be read.
        """

@final
class Boundary:
    """Walls for commands, made ready once for any number of them.

    Many threads may run commands in one boundary at the same time; they share its workspace and its private scratch
    (`HOME` and `TMPDIR`). Use it as a context manager: the scratch is removed at the end, after the last command.

    Starting a command costs time that grows with the memory of this process, because it begins as a copy of it.
    """

    def __new__(
        cls,
        workspace: _Name,
        *,
        write: bool = True,
        reads: Iterable[_Name] | None = None,
        writes: Iterable[_Name] | None = None,
        sealed: Iterable[_Name] | None = None,
        network: str | None = None,
        access: Literal["boundary", "toolchains", "full"] = "boundary",
        memory: int | None = None,
        env: Mapping[str, str] | Mapping[bytes, bytes] | Mapping[str | bytes, str | bytes] | None = None,
        require: Literal["complete", "namespaces", "landlock", "system_calls"] = "complete",
        pids: int | None = None,
        open_files: int | None = None,
        file_size: int | None = None,
        cpu_seconds: int | None = None,
        scratch: int | None = None,
        allow_debugger: bool = False,
        allow_nested_namespaces: bool = False,
    ) -> Self:
        """Check what was asked for and make it ready. Starts nothing.

        Args:
            workspace: The directory commands work in.
            write: Whether the workspace may be changed.
            reads: Further files and directories that may be read.
            writes: Further files and directories that may be changed.
            sealed: What stays out of reach whatever else is granted. This user's task stores, the usual one and the one
                that `MICROCODER_STORE` names, always do.
            network: `"none"`, `"host"`, or `"allow:HOST:PORT,HOST:PORT"` for listed hosts through a gateway. By default
                what the access mode has: none for `"boundary"`.
            access: `"boundary"` for the granted paths and the system's programs; `"toolchains"` also for this user's
                developer tools, with the host's network; `"full"` for all that is this user's, in their login shell's
                environment, but the checkout that a linked worktree was made from.
            memory: The most memory in bytes: of all processes of a command together where control groups can be made,
                else the private memory of each; `enforced` says which.
            env: Variables added to the few that every command gets. Nothing else of this process's environment is
                passed on.
            require: The least boundary that is accepted. With less, this or the first command is refused; what a lesser
                one lacks is in the report of each command.
            pids: The most processes and threads of a command.
            open_files: The most open files of each process.
            file_size: The largest file that is written, in bytes.
            cpu_seconds: The processor time of each process.
            scratch: The most bytes in `HOME` and `TMPDIR`; a command found above them is ended.
            allow_debugger: Whether `ptrace` and its like reach the command's own processes.
            allow_nested_namespaces: Whether commands may make user namespaces. Not for root.

        Raises:
            BoundaryError: Something asked for cannot be had or cannot be held.
            CoderError: With code `io` where the workspace does not exist.
            ValueError: An argument is none of its values.
        """

    @property
    def enforced(self) -> Enforced:
        """What will hold every command, if the kernel gives all that is asked of it."""

    def run(
        self,
        argv: Iterable[_Name],
        *,
        stdin: bytes | None = None,
        timeout: float | None = None,
        output_limit: int = 131_072,
    ) -> Completed:
        """Run one command to its end. No process of it is left when this returns, unless `tree_clear` is false.

        Args:
            argv: The program and its arguments. A program without `/` is looked for in the boundary's `PATH`.
            stdin: What the command reads.
            timeout: Seconds after which the command is ended, more than 0.
            output_limit: The most bytes kept of each stream: half from its beginning, half from its end.

        Raises:
            BoundaryError: Nothing ran, as when the program does not exist; or with code `too_little_enforced`, when the
                kernel gave less than the mode promises; or with code `closed`.
            KeyboardInterrupt: An interrupt came, in the main thread; raised after the command was ended. The same holds
                for whatever another signal handler raises.
        """

    def close(self) -> None:
        """Remove the scratch once the last running command ended. Running a command is refused from now on."""

    def __enter__(self) -> Self:
        """Give the boundary itself."""

    def __exit__(self, *_raised: object) -> None:
        """Close it."""
