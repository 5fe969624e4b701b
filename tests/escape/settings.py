"""How an attempt or a work is started: by whom, with which access, at which level, or with no boundary at all.

It starts processes and keeps what they print. It judges nothing; `world.py` does.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rows import HERE, Attempt, Work

from world import Owner, World

# What commands find inside; without a boundary they get the same.
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
KEPT_BYTES = 1 << 20
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Setting:
    """One way of running everything."""

    owner: Owner
    access: str
    # As if the machine gave no more than this.
    level: str = "complete"
    # Layers that a test-only build leaves out.
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        parts = [self.owner.name, self.access, *([] if self.level == "complete" else [f"level {self.level}"])]
        if self.without:
            parts.append("without " + " and ".join(self.without))
        return ", ".join(parts)


@dataclass(frozen=True)
class Programs:
    """Where the programs under test and the compiled attempts are, readable for everybody."""

    microcoder: Path
    # A host that confines nothing: what the same calls do to a person who has no boundary.
    bare: Path
    # A build of the same host that can leave layers out; absent where only the real one is tried.
    weakened: Path | None
    compiled: Path


@dataclass(frozen=True)
class Ended:
    """How a process ended and the beginning and end of what it printed."""

    status: int
    output: bytes
    errors: bytes

    def tail(self) -> str:
        return (self.output[-300:] + self.errors[-900:]).decode(errors="replace").strip()


def call(
    command: Sequence[str | Path],
    cwd: Path,
    environment: dict[str, str],
    owner: Owner,
    seconds: float,
    descriptors: Sequence[int] = (),
) -> Ended:
    """Runs a process in a session of its own to its end, or kills the session after `seconds` (status -9)."""
    kept: tuple[list[bytes], list[bytes]] = ([], [])
    running = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        user=owner.user,
        group=owner.group,
        extra_groups=[],
        pass_fds=descriptors,
    )

    def drain(descriptor: int, into: list[bytes]) -> None:
        size = 0
        with contextlib.suppress(OSError):
            while piece := os.read(descriptor, 1 << 16):
                if size > KEPT_BYTES:
                    # The beginning stays, and of the rest the end.
                    piece = (into.pop() + piece)[-(1 << 16) :]
                into.append(piece)
                size += len(piece)

    assert running.stdout is not None and running.stderr is not None
    readers = [
        threading.Thread(target=drain, args=(stream.fileno(), into), daemon=True)
        for stream, into in zip((running.stdout, running.stderr), kept, strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        status = running.wait(seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        status = running.wait()
    for reader in readers:
        # A process that was left behind may hold the other end; what it prints later does not count.
        reader.join(1)
    return Ended(status, b"".join(kept[0]), b"".join(kept[1]))


def place(row: Attempt | Work, world: World, programs: Programs) -> list[str]:
    """Puts the program into the workspace, and says how to run it there."""
    suffix = row.path.suffix
    target = world.work / f"attempt{suffix if suffix != '.c' else ''}"
    shutil.copyfile(programs.compiled / row.id if suffix == ".c" else row.path, target)
    target.chmod(0o755)
    if world.owner.user != os.geteuid():
        os.chown(target, world.owner.user, world.owner.group)
    start = {".py": [PYTHON, "-B"], ".sh": ["/bin/sh"], ".c": []}[suffix]
    return [*start, str(target), *(expanded(argument, world) for argument in row.arguments)]


def filled(text: str, values: dict[str, str]) -> str:
    """`text` with the values of `{NAME}`."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def expanded(text: str, world: World) -> str:
    return filled(text, world.variables())


def host_environment(world: World) -> dict[str, str]:
    """What the person's own shell would give; it holds a secret, as such environments do."""
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(world.person),
        "TMPDIR": str(world.temporary),
        "LC_ALL": "C.UTF-8",
        "DEPLOY_TOKEN": world.secrets["caller"],
    }


def execute(row: Attempt | Work, world: World, setting: Setting, programs: Programs, seconds: int) -> Ended:
    """Runs a program through `microcoder exec`, or through the build that can leave layers out."""
    told = [f"{name}={value}" for name, value in world.variables().items()]
    options = ["--access", setting.access, *(expanded(option, world) for option in row.options)]
    command = place(row, world, programs)
    if setting.level == "complete" and not setting.without:
        program: list[str | Path] = [programs.microcoder, "exec", *(f"--env={variable}" for variable in told)]
        options += [] if "--timeout" in options else ["--timeout", f"{seconds}s"]
    else:
        assert programs.weakened is not None
        program = [programs.weakened, "--level", setting.level, *(word for layer in setting.without for word in ("--without", layer))]
        # That build takes plain numbers, and what it found goes to a file.
        options = [plain(option) if before in {"--timeout", "--memory"} else option for before, option in pairs(options)]
        options += ["--report", str(world.report)]
        options += [] if "--timeout" in options else ["--timeout", str(seconds)]
        command = ["/usr/bin/env", *told, *command]
    return call([*program, *options, "--", *command], world.work, host_environment(world), world.owner, seconds + 20)


def plain(text: str) -> str:
    return str(int(text[:-1]) << 20) if text.endswith("M") else text.removesuffix("s")


def pairs(words: list[str]) -> list[tuple[str, str]]:
    """Each word with the one before it."""
    return list(zip(["", *words], words, strict=False))


def bare(row: Attempt | Work, world: World, programs: Programs, seconds: int) -> Ended:
    """Runs a program without any boundary, where it stands and with what it is told."""
    command = place(row, world, programs)
    return call(command, world.work, host_environment(world) | world.variables(), world.owner, seconds)


def drive(row: Attempt, world: World, setting: Setting, programs: Programs, host: Path, seconds: int) -> Ended:
    """Runs a program outside, which itself calls the host: ours, or one that confines nothing."""
    start = {".py": [PYTHON, "-B"], ".sh": ["/bin/sh"]}[row.path.suffix]
    environment = host_environment(world) | {name: value for name, value in world.variables().items() if name != "MARK"}
    environment |= {"MICROCODER": str(host), "ACCESS": setting.access, "BUILT": str(programs.compiled), "PYTHONPATH": str(HERE / "tools")}
    arguments = [expanded(argument, world) for argument in row.arguments]
    return call([*start, str(row.path), *arguments], world.work, environment, world.owner, seconds)
