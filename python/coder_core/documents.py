"""The JSON documents of Microcoder, as the typed dicts that `Store` and `run_repository` return.

They are the documents of `coder task` and `microcoder repository`, key by key. `Digest` is `sha256:` and 64 hexadecimal
digits; `BareDigest` is the digits alone, where the format has them so. What is not known is `None`, never zero. Keys of
a class named `…Extras` are absent where they do not apply.
"""

from typing import Any, Literal, TypedDict

__all__ = [
    "Admission",
    "Archived",
    "Artifact",
    "Attestation",
    "AttestationVerification",
    "BareDigest",
    "BytePath",
    "Change",
    "Check",
    "CheckReport",
    "Cleared",
    "Collected",
    "CommandReport",
    "Configuration",
    "Correction",
    "CostStatus",
    "Cursor",
    "Digest",
    "EncodedPath",
    "Enforced",
    "Evidence",
    "EvidenceState",
    "Execution",
    "FollowUp",
    "Intent",
    "JournalHead",
    "LeftOver",
    "Manifest",
    "MovedReference",
    "Pending",
    "Receipt",
    "Recovered",
    "RestoredReference",
    "Run",
    "RunResult",
    "Status",
    "Steered",
    "Summary",
    "TakenOver",
    "Task",
    "TraceFault",
    "Verdict",
    "Verification",
    "View",
    "Workspace",
]

Digest = str
BareDigest = str

Status = Literal["queued", "cancelled", "running", "cancel_requested", "finished", "unknown"]
Execution = Literal["not_started", "running", "finished", "failed", "stopped", "unknown"]
Checks = Literal["not_run", "running", "passed", "failed", "unavailable", "disputed"]
CostStatus = Literal["priced", "partial", "unknown"]
Verdict = Literal["verified", "incomplete", "unfinished", "mismatch", "consistent"]
EvidenceState = Literal[
    "not_started",
    "missing",
    "unavailable_or_unsafe",
    "unreadable",
    "oversized",
    "malformed",
    "digest_mismatch",
    "damaged",
    "incomplete",
    "unsealed",
    "sealed",
]


class EncodedPath(TypedDict):
    """A path that is not UTF-8: its exact bytes."""

    base64: str


BytePath = str | EncodedPath


class Receipt(TypedDict):
    """What a command's writer gets: the state right after the command."""

    schema: str
    command_id: str
    task_id: str
    request_digest: Digest
    sequence: int
    revision: int
    status: Status
    execution: Execution
    checks: Checks


class Workspace(TypedDict):
    """The tree a task works on."""

    path: str
    source_revision: str | None


class Configuration(TypedDict):
    """The requested adapter and model."""

    adapter: str
    model: str | None


class IntentExtras(TypedDict, total=False):
    """Keys of `Intent` that may be absent."""

    images: list[str]


class Intent(IntentExtras):
    """What a task is to do, as submitted."""

    title: str
    prompt: str
    workspace: Workspace
    configuration: Configuration


class Correction(TypedDict):
    """A replaced prompt."""

    revision: int
    prompt: str
    reason: str


class FollowUp(TypedDict):
    """The prompt of a later turn."""

    revision: int
    prompt: str


class Admission(TypedDict):
    """What was admitted: the grant with its exact text, and the pins the run is held to."""

    grant: dict[str, Any]
    grant_digest: Digest
    grant_request: str
    workspace: str
    source_revision: str | None
    source_snapshot: BareDigest
    program_digest: Digest
    adapter: str
    network: str
    read_scope: str
    authority: str
    trace_file: str
    context: Any


class AutoExec(TypedDict):
    """A changed file that others execute later, and who."""

    path: BytePath
    runs: str


class RunResultExtras(TypedDict, total=False):
    """Keys of `RunResult` that may be absent."""

    reason: str
    cleanup: str
    git_restored: list[str]
    appeared: list[BytePath]
    auto_exec: list[AutoExec]
    auto_exec_omitted: int
    cost_microusd: int
    engine_microusd: int
    jev_microusd: int
    payer: str


class RunResult(RunResultExtras):
    """How a run ended. Costs are in millionths of a dollar."""

    ending: str
    exit_code: int | None
    stop_requested: bool
    group_clear: bool
    elapsed_ms: int | None
    trace_digest: Digest | None
    candidate_snapshot: BareDigest | None
    artifact_file: str | None
    artifact_digest: Digest | None
    output_incomplete: bool
    cost_status: CostStatus


class CheckReport(TypedDict):
    """What the independent checks found."""

    schema: str
    requirements_digest: BareDigest
    context_digest: BareDigest | None
    candidate_snapshot: BareDigest | None
    verdict: Literal["passed", "failed", "unavailable", "disputed"]
    evidence: Any
    reason: str | None


class RunExtras(TypedDict, total=False):
    """Keys of `Run` that may be absent."""

    effect_id: str
    process_id: int
    result: RunResult
    reason: str
    report: CheckReport
    check_reason: str


class Run(RunExtras):
    """One turn's run: what was admitted and what became of it."""

    epoch: int
    revision: int
    admission: Admission


class TaskExtras(TypedDict, total=False):
    """Keys of `Task` that may be absent."""

    corrections: list[Correction]
    run: Run
    follow_ups: list[FollowUp]
    earlier: list[Run]


class Task(TaskExtras):
    """A task as the journal has it."""

    task_id: str
    revision: int
    intent: Intent
    intent_digest: Digest
    status: Status
    execution: Execution
    checks: Checks
    cancellation_reason: str | None


class Pending(TypedDict):
    """What is known once a detached run was started. Whether it was admitted, the task and the diagnostic say later."""

    task_id: str
    owner_process: int
    admission: Literal["pending"]
    grant_digest: Digest
    diagnostic_path: str
    message: str


class Steered(TypedDict):
    """A message that is on disk and waits for the next step of the turn."""

    task_id: str
    turn: int
    message_digest: Digest
    status: Status


class MovedReference(TypedDict):
    """A branch, or `HEAD`, and the commit or the branch where it is now."""

    name: str
    to: str


class RestoredReference(TypedDict):
    """A branch, `HEAD`, `index` or the whole `repository` that stays as it was, and why."""

    name: str
    reason: str


class TakenOver(TypedDict):
    """What of a run's Git has reached the repository, and what has not. `pack_bytes` is the size of the new objects."""

    pack_bytes: int
    moved: list[MovedReference]
    index: bool
    restored: list[RestoredReference]
    unfinished: list[str]


class Recovered(TypedDict):
    """A task whose vanished owner's run was closed.

    `remains` says what of the run may still exist; where it is empty, it is proved that nothing does. `git` is `None`
    where there was nothing to take over, and while something remains.
    """

    task: Task
    remains: list[str]
    git: TakenOver | None


class Archived(TypedDict):
    """A task that was put away. `archived_at` is in milliseconds since 1970 UTC."""

    task_id: str
    archived_at: int


class Cleared(TypedDict):
    """One thing that was cleared away, by its path from the store, with the bytes its files had."""

    kind: Literal["manifest", "blob", "temporary", "scratch", "lock", "command", "launch"]
    path: str
    bytes: int


class LeftOver(TypedDict):
    """One thing that stays although nothing names it, and why."""

    path: str
    reason: str


class Collected(TypedDict):
    """What clearing up a store came to, or with `dry_run` would come to. `bytes` counts everything in `cleared`."""

    sweep: Literal["remove", "dry_run"]
    cleared: list[Cleared]
    bytes: int
    left: list[LeftOver]


class Summary(TypedDict):
    """One line of the list of tasks."""

    task_id: str
    revision: int
    title: str
    submitted_at: int
    """Milliseconds since 1970 UTC, as `changed_at`."""
    changed_at: int
    turn: int
    status: Status
    execution: Execution
    checks: Checks


class Cursor(TypedDict):
    """A place in the evidence of a task; given back unchanged to get the next page."""

    schema: str
    task_id: str
    intent_digest: Digest
    trace_file: str
    next_step: int
    prefix_digest: Digest


class TraceFault(TypedDict):
    """What is wrong with one line of a trace."""

    line: int
    kind: str


class EvidenceExtras(TypedDict, total=False):
    """Keys of `Evidence` that may be absent."""

    faults_omitted: int


class Evidence(EvidenceExtras):
    """One page of a run's evidence. `next` is there while steps are left or the trace may still grow."""

    state: EvidenceState
    trace_file: str | None
    digest: Digest | None
    matches_result: bool | None
    faults: list[TraceFault]
    total_steps: int
    next: Cursor | None
    more_available: bool
    steps: list[dict[str, Any]]


# The key `from` is a keyword of Python.
Change = TypedDict(
    "Change",
    {
        "change": Literal["created", "removed", "modified", "renamed", "retyped"],
        "path": BytePath,
        "aspect": Literal["content", "mode", "rewritten"],
        "from": BytePath,
        "to": BytePath,
        "altered": bool,
    },
    total=False,
)


class ArtifactExtras(TypedDict, total=False):
    """Keys of `Artifact` that may be absent."""

    reason: str


class Artifact(ArtifactExtras):
    """What became of one changed path. Regular files that are `retained` can be got with `Store.artifact`."""

    path: BytePath
    state: Literal["retained", "removed", "symlink", "directory", "unavailable", "unavailable_or_over_limit"]
    digest: Digest | None
    bytes: int | None
    link_target: BytePath | None


class Manifest(TypedDict):
    """The changed files of a candidate, as kept."""

    schema: str
    source_snapshot: BareDigest
    candidate_snapshot: BareDigest
    complete: bool
    omitted_changes: int
    changes: list[Change]
    entries: list[Artifact]


class View(TypedDict):
    """A task with one page of its current turn's evidence and what was kept of its candidate."""

    schema: str
    task: Task
    evidence: Evidence
    artifacts: Manifest | None
    artifact_error: str | None
    artifact_faults: list[str]
    verification: Checks
    integration: str
    cost_usd: float | None
    cost_status: CostStatus


class CheckExtras(TypedDict, total=False):
    """Keys of `Check` that may be absent."""

    turn: int
    detail: str


class Check(CheckExtras):
    """One comparison of a verification."""

    name: str
    finding: Literal["holds", "absent", "fails"]


class JournalHead(TypedDict):
    """The end of a journal's ledger at some moment."""

    position: int
    digest: str


class VerificationExtras(TypedDict, total=False):
    """Keys of `Verification` that may be absent."""

    first_mismatch: str
    journal_head: JournalHead


class Verification(VerificationExtras):
    """What re-deriving everything about a task from its store found. Only `verified` means that all of it holds."""

    task_id: str
    verdict: Verdict
    state: str
    checks: list[Check]


class Attestation(TypedDict):
    """What is known of an attestation: what it was compared with, and what its signature is worth."""

    turn: int
    compared_with: Literal["nothing", "store"]
    signature: Literal["absent", "not_checked", "valid", "invalid"]
    key_id: str | None


class AttestationVerification(Verification):
    """What verifying an attestation found."""

    attestation: Attestation


class PerProcess(TypedDict):
    """A bound that holds for each process by itself."""

    per_process: int


class Together(TypedDict):
    """A bound that holds for all processes of the boundary together."""

    together: int


class QuotaMemory(TypedDict):
    """The private home and `/tmp` are a filesystem in memory of so many bytes."""

    memory: int


class QuotaCounted(TypedDict):
    """The host counts what lies in the private home and `/tmp`, and ends a command found above so many bytes."""

    counted: int


Bound = Literal["none"] | PerProcess | Together
Permission = Literal["refused", "allowed"]
Namespace = Literal["host", "own"]
Power = Literal["kept", "dropped"]


class EnforcedExtras(TypedDict, total=False):
    """What is there only where it holds."""

    source_checkout: Literal["guarded"]


class Enforced(EnforcedExtras):
    """What each layer of a boundary holds. `landlock` is the ABI that restricts files, or `None` when none does."""

    access: Literal["boundary", "toolchains", "full"]
    root: Literal["host", "assembled"]
    users: Namespace
    mounts: Namespace
    processes: Namespace
    ipc: Namespace
    host_name: Namespace
    network: Literal["host", "listed", "loopback", "nothing", "refused"]
    abstract_sockets: Literal["host", "scoped", "own", "refused"]
    landlock: int | None
    capabilities: Power
    new_privileges: Power
    system_calls: Literal["unfiltered", "filtered"]
    memory: Bound
    process_count: Bound
    level: Literal["complete", "namespaces", "landlock", "system_calls"] | None
    signals: Literal["host", "scoped", "own"]
    debugger: Permission
    nested_namespaces: Permission
    open_files: Bound
    file_bytes: Bound
    cpu_seconds: Bound
    scratch: Literal["none"] | QuotaMemory | QuotaCounted
    group: Literal["cgroup_v1", "cgroup_v2"] | None


class Connection(TypedDict):
    """One connection of a command through its gateway; `rule` is the entry that allows it."""

    time: int
    host: str | None
    port: int | None
    verdict: Literal["allowed", "refused", "failed"]
    rule: str | None
    reason: str | None
    address: str | None
    sent_bytes: int
    received_bytes: int


class Connections(TypedDict):
    """The connections of a command, the first 512 of them listed."""

    listed: list[Connection]
    omitted: int


class Denied(TypedDict):
    """Something the boundary refused: a path, or `network`. `inferred` from the output, not reported by the kernel."""

    subject: str
    rule: str
    inferred: bool


class CommandReportExtras(TypedDict, total=False):
    """Keys of `CommandReport` that may be absent.

    `connections` is there with a network of listed hosts, `toolchains` and `command_environment` (names, no values)
    with the access that has them, `lacks` with less than a complete boundary.
    """

    denied: list[Denied]
    connections: Connections
    toolchains: dict[str, Any]
    command_environment: dict[str, Any]
    lacks: list[str]


class CommandReport(CommandReportExtras):
    """The report of one command in a boundary. `appeared` names files that Git would obey and the command made.

    What ran out is `None` where nothing counts it.
    """

    schema: str
    ending: str
    exit: int | None
    death: dict[str, int] | None
    group_clear: bool
    proof: str | None
    seconds: float
    usage: dict[str, Any] | None
    enforced: Enforced
    out_of_memory: bool | None
    out_of_processes: bool | None
    out_of_scratch: bool | None
    appeared: list[BytePath]
