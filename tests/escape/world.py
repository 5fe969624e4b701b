"""The outside of one attempt: a person's home, files, repository, sockets and a process, and what became of them.

A world is built fresh for each attempt and judged from outside afterwards: nothing here asks the attempt how it went. It runs no
attempt itself; `settings.py` knows how one is started.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PLACEHOLDER = b"canary-" + b"@" * 24
# What of a Git directory decides what Git does or runs. The rest of an ordinary checkout's is the work itself.
STEERING = ("config", "config.worktree", "hooks", "info", "commondir", "gitdir", "worktrees", "modules", "objects/info")
# What an attempt that is given a quarter of a gigabyte may hold at most, the host's own processes included.
MOST_MEMORY = 640 << 20
# Where an attempt could hope to meet the person's own temporary files.
SHARED_PLACES = (
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev/mqueue",
    "/run",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/memory",
    "/sys/fs/cgroup/pids",
    "/etc",
    "/usr/lib",
    "/usr/bin",
)


@dataclass(frozen=True)
class Owner:
    """Whom the world belongs to, and who runs what happens in it."""

    name: str
    user: int
    group: int


@dataclass(frozen=True)
class Tools:
    """What was built at the start, for every world."""

    victim: Path
    lent: Path
    program: bytes
    library: bytes
    # A repository of one commit with a linked worktree, made once by Git itself and copied from then on.
    template: Path


def new_secret() -> str:
    return "canary-" + secrets.token_hex(12)


def digest(root: Path) -> dict[str, tuple[int, int, str]]:
    """Every entry below `root`, itself included: mode, owner, and what it holds."""
    found: dict[str, tuple[int, int, str]] = {}
    cut = len(os.fspath(root)) + 1
    pending = [os.fspath(root)]
    # Thousands of times in a run, so by the plainest calls there are.
    while pending:
        path = pending.pop()
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        held = ""
        if stat.S_ISLNK(status.st_mode):
            held = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            held = hashlib.sha256(content(path)).hexdigest()
        elif stat.S_ISDIR(status.st_mode):
            pending.extend(f"{path}/{name}" for name in os.listdir(path))
        found[path[cut:] or "."] = (status.st_mode, status.st_uid, held)
    return found


def content(path: str) -> bytes:
    """A whole file, by as few calls as can be."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        pieces = []
        while piece := os.read(descriptor, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink()
    elif str(path).startswith("/sys/"):
        path.rmdir()
    else:
        shutil.rmtree(path)


def differences(before: dict[str, tuple[int, int, str]], after: dict[str, tuple[int, int, str]]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


class World:
    """Everything that an attempt is after."""

    def __init__(self, place: Path, owner: Owner, tools: Tools, stage: str, given: dict[str, str]) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="escape-", dir=place))
        self.owner = owner
        self.stage = stage
        self.given = given
        self.mark = secrets.token_hex(6)
        self.secrets = {name: new_secret() for name in ("file", "environment", "memory", "caller", "root")}
        self.person = self.root / "person"
        self.outside = self.root / "outside"
        self.sockets = self.root / "sockets"
        self.project = self.root / "project"
        self.temporary = self.root / "tmp"
        self.work = self.root / "work"
        # Where a host that does not say what it found writes it.
        self.report = self.temporary / "report.json"
        for folder in (self.person, self.outside, self.sockets, self.temporary):
            folder.mkdir()
        self.root.chmod(0o755)
        self._fill_home()
        self._fill_outside(tools)
        self._fill_repository(tools.template)
        self._give_away()
        self._lend(tools.lent)
        self.victim = self._start_victim(tools.victim)
        self._listen()
        self.watched = {name: getattr(self, name) for name in ("person", "outside", "project")}
        if stage == "checkout":
            del self.watched["project"]
        self.victim_before = self._victim_settings()
        self.before = {name: digest(path) for name, path in self.watched.items()}
        self.steering = self._steering()
        self.exhausted = ""
        # Whether it is known that nothing of this world is alive.
        self.empty = False

    def _fill_home(self) -> None:
        secret = self.secrets["file"]
        for name, text in {
            ".bashrc": "# a shell's start\n",
            ".gitconfig": "[user]\n\tname = Person\n\temail = person@example.invalid\n",
            ".ssh/id_ed25519": f"{secret}\n",
            ".aws/credentials": f"{secret}\n",
            ".openagents/tasks/task-1.atif.jsonl": f"{secret}\n",
        }.items():
            path = self.person / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(text)
        (self.person / ".ssh/id_ed25519").chmod(0o600)

    def _fill_outside(self, tools: Tools) -> None:
        secret = self.secrets["file"].encode()
        (self.outside / "secret").write_bytes(secret + b"\n")
        (self.outside / "notes").write_text("as it was\n")
        (self.outside / "shown").mkdir()
        (self.outside / "shown/readable").write_text("may be read, not written\n")
        # Right beside what is granted, with the granted name as its beginning.
        (self.outside / "shown-not").mkdir()
        (self.outside / "shown-not/secret").write_bytes(secret + b"\n")
        (self.outside / "program").write_bytes(tools.program.replace(PLACEHOLDER, secret))
        (self.outside / "program").chmod(0o755)
        (self.outside / "library.so").write_bytes(tools.library.replace(PLACEHOLDER, secret))

    def _fill_repository(self, template: Path) -> None:
        """A repository with a linked worktree, or with its own checkout as the workspace."""
        if self.stage == "checkout":
            shutil.copytree(template / "project", self.work, symlinks=True)
            shutil.rmtree(self.work / ".git/worktrees")
            self.project.mkdir()
            return
        shutil.copytree(template / "project", self.project, symlinks=True)
        if self.stage == "worktree":
            shutil.copytree(template / "work", self.work, symlinks=True)
            for path in (self.work / ".git", self.project / ".git/worktrees/work/gitdir"):
                path.write_text(path.read_text().replace(str(template), str(self.root)))
        else:
            shutil.rmtree(self.project / ".git/worktrees")
            self.work.mkdir()

    def _give_away(self) -> None:
        if self.owner.user == os.geteuid():
            return
        for folder, folders, files in os.walk(self.root):
            for name in (".", *folders, *files):
                os.chown(Path(folder) / name, self.owner.user, self.owner.group, follow_symlinks=False)

    def _lend(self, program: Path) -> None:
        """Where the tests are root: a file for root alone, and a program that runs as root for everybody."""
        if os.geteuid() != 0 or self.owner.user == 0:
            return
        (self.outside / "only-for-root").touch(mode=0o600)
        (self.outside / "only-for-root").write_text(self.secrets["root"])
        shutil.copyfile(program, self.outside / "lent")
        (self.outside / "lent").chmod(0o4755)

    def _start_victim(self, program: Path) -> "subprocess.Popen[bytes]":
        with (self.outside / "secret").open("rb") as held:
            return subprocess.Popen(
                [program, self.secrets["memory"]],
                cwd=self.outside,
                env={"SECRET": self.secrets["environment"]},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=held,
                user=self.owner.user,
                group=self.owner.group,
                extra_groups=[],
            )

    def _listen(self) -> None:
        """Sockets by path, by abstract name and by port; none is ever answered."""
        self.listeners: dict[str, socket.socket] = {}
        for name, kind in (
            ("bus", socket.SOCK_STREAM),
            ("docker.sock", socket.SOCK_STREAM),
            ("agent", socket.SOCK_STREAM),
            ("log", socket.SOCK_DGRAM),
            ("packets", socket.SOCK_SEQPACKET),
        ):
            for address in (str(self.sockets / name), f"\0{self.mark}-{name}"):
                self._bind(f"{'abstract ' if address[0] == chr(0) else ''}socket {name}", socket.AF_UNIX, kind, address)
        for path in self.sockets.iterdir():
            path.chmod(0o777)
        self._bind("TCP port", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self._bind("UDP port", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._bind("TCP port of IPv6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))

    def _bind(self, name: str, family: int, kind: int, address: str | tuple[str, int]) -> None:
        listener = socket.socket(family, kind)
        listener.bind(address)
        if kind != socket.SOCK_DGRAM:
            listener.listen(16)
        listener.setblocking(False)
        self.listeners[name] = listener

    def port(self, name: str) -> int:
        number: int = self.listeners[name].getsockname()[1]
        return number

    def _steering(self) -> dict[str, tuple[int, int, str]]:
        git = self.work / ".git"
        if self.stage != "checkout":
            return {}
        names = {name: entry for name, entry in digest(git).items() if name.startswith(STEERING) or name == "."}
        # Git's own log of what it fetched and committed is not among them.
        return {name: entry for name, entry in names.items() if not name.startswith("info/refs")}

    def variables(self) -> dict[str, str]:
        """What every attempt is told: where everything is, and nothing of what is secret."""
        return {
            "OUTSIDE": str(self.outside),
            "PERSON": str(self.person),
            "PROJECT": str(self.project),
            "SOCKETS": str(self.sockets),
            "WORLD": str(self.root),
            "MARK": self.mark,
            "VICTIM": str(self.victim.pid),
            "TCP": str(self.port("TCP port")),
            "UDP": str(self.port("UDP port")),
            "TCP6": str(self.port("TCP port of IPv6")),
            **self.given,
        }

    # What an attempt may have done. Each of these says what it sees, or nothing.

    def harms(self, output: bytes, told: str, granted: tuple[Path, ...] = ()) -> dict[str, str]:
        """What happened outside, by kind. `told` is what the host itself said of the command, which may name a finding; what
        lies in a `granted` tree may be changed."""
        with contextlib.suppress(FileNotFoundError):
            told += self.report.read_text()
        seen = {
            "survivor": self._survivors(),
            "read": self._read(output),
            "write": self._written(granted),
            "steering": self._steered(told),
            "listener": self._reached(),
            "victim": self._victim_state(),
            "machine": self._machine() or self._planted(),
            "verdict": self._verdict(),
            "exhausted": self.exhausted,
            "ran": "the command ran" if (self.work / "ran").exists() else "",
        }
        return {kind: said for kind, said in seen.items() if said}

    def _read(self, output: bytes) -> str:
        places = {"its output": output}
        for path in self._kept():
            with contextlib.suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < 1 << 24:
                    places[str(path.relative_to(self.root))] = path.read_bytes()
        for where, content in places.items():
            for name, secret in self.secrets.items():
                if secret.encode() in content:
                    return f"the secret of the {name} is in {where}"
        return ""

    def _kept(self) -> Iterator[Path]:
        """Where a secret must not turn up: the workspace, and what a host keeps of a run."""
        for root in (self.work, self.temporary / "kept", self.temporary / "repository"):
            if root.is_dir() and not root.is_symlink():
                yield from root.rglob("*")

    def _written(self, granted: tuple[Path, ...]) -> str:
        for name, path in self.watched.items():
            changed = differences(self.before[name], digest(path))
            if name == "project" and self.stage == "worktree":
                changed = [entry for entry in changed if not self._taken_over(entry)]
            if changed := [entry for entry in changed if not any((path / entry).is_relative_to(tree) for tree in granted)]:
                return f"{name}: changed: {', '.join(changed[:4])}"
        known = {"person", "outside", "sockets", "project", "tmp", "work"}
        if added := sorted({path.name for path in self.root.iterdir()} - known):
            return f"beside the workspace: {', '.join(added)}"
        return ""

    def _taken_over(self, entry: str) -> bool:
        """Whether the host may have put this into the repository: a commit of the worktree's own branch, and its index."""
        if entry.startswith(".git/objects"):
            return entry not in self.before["project"]
        # Not what a person would obey: hooks, configuration, other branches, other worktrees.
        own = ("worktrees/work/index", "worktrees/work/HEAD", "worktrees/work/logs", "refs/heads/microcoder", "logs/refs/heads/microcoder")
        return entry.startswith(tuple(f".git/{name}" for name in own))

    def _steered(self, told: str) -> str:
        changed = [name for name in differences(self.steering, self._steering()) if name not in told]
        return f".git: changed and not told: {', '.join(changed)}" if changed else ""

    def _reached(self) -> str:
        for name, listener in self.listeners.items():
            with contextlib.suppress(BlockingIOError):
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(64)
                else:
                    listener.accept()[0].close()
                return f"the {name} was reached"
        return ""

    def _victim_state(self) -> str:
        if self.victim.poll() is not None:
            return f"the person's process ended: {self.victim.returncode}"
        fields = Path(f"/proc/{self.victim.pid}/status").read_text().splitlines()
        state = dict(line.split(":", 1) for line in fields if ":" in line)
        if state["State"].strip()[0] in "Tt" or int(state["TracerPid"]) != 0:
            return f"the person's process: {state['State'].strip()}, traced by {state['TracerPid'].strip()}"
        if self._victim_settings() != self.victim_before:
            return "the person's process: its limits, priority or processors were changed"
        assert self.victim.stdin is not None and self.victim.stdout is not None
        self.victim.stdin.write(b"?")
        self.victim.stdin.flush()
        said = self.victim.stdout.readline().decode().strip()
        return "" if said == "0 intact" else f"the person's process: signals and memory: {said}"

    def _victim_settings(self) -> str:
        """What of a process another may set: its limits, priority, processors and standing with the memory killer."""
        folder = Path(f"/proc/{self.victim.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return "\n".join(
            [
                (folder / "limits").read_text(),
                *fields[15:17],
                (folder / "oom_score_adj").read_text(),
                str(os.sched_getaffinity(self.victim.pid)),
            ]
        )

    def _survivors(self) -> str:
        # What was killed may take a moment to be gone; what lives on does not go away.
        deadline = time.monotonic() + 5
        while (left := list(self.processes())) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.empty = not left
        return f"left alive: {left}" if left else ""

    def processes(self) -> Iterator[int]:
        """The processes that carry this world's mark, or know where it lies."""
        marks = (self.mark.encode(), self.root.name.encode())
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in (self.victim.pid, os.getpid()):
                continue
            with contextlib.suppress(OSError):
                told = content(f"/proc/{name}/environ") + content(f"/proc/{name}/cmdline")
                if any(mark in told for mark in marks):
                    yield int(name)

    def watch(self, over: threading.Event) -> None:
        """Looks until `over` how much memory the marked processes hold together, and remembers when it was too much."""
        page = os.sysconf("SC_PAGE_SIZE")
        while not over.wait(0.05):
            held = 0
            for process in self.processes():
                with contextlib.suppress(OSError):
                    held += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * page
            if held > MOST_MEMORY:
                self.exhausted = f"its processes held {held >> 20} MiB"

    def _machine(self) -> str:
        """Traces in what all processes of the machine share, by this world's mark."""
        if self.mark in socket.gethostname():
            return "the host name was changed"
        if self.mark in Path("/proc/self/mountinfo").read_text():
            return "something was mounted"
        for table in ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"):
            with contextlib.suppress(FileNotFoundError):
                if any(line.split()[:1] == [str(self.key)] for line in Path(table).read_text().splitlines()):
                    return f"{table} has a new entry"
        for place in SHARED_PLACES:
            with contextlib.suppress(OSError):
                if any(self.mark in name for name in os.listdir(place)):
                    return f"{place} has a new entry"
        for name in ("core_pattern", "modprobe", "hotplug", "domainname"):
            with contextlib.suppress(OSError):
                if self.mark in (Path("/proc/sys/kernel") / name).read_text():
                    return f"kernel.{name} was changed"
        with contextlib.suppress(OSError):
            if self.mark in Path("/proc/keys").read_text():
                return "the person's keyring has a new key"
        return ""

    def _planted(self) -> str:
        """What in the workspace would lend rights to whoever finds it."""
        for path in self.work.rglob("*") if self.work.is_dir() and not self.work.is_symlink() else ():
            with contextlib.suppress(OSError):
                mode = path.lstat().st_mode
                if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) or (stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID)):
                    return f"{path.name} in the workspace is a device, or runs as its owner"
        return ""

    def _verdict(self) -> str:
        """What was judged by `tools/agent.py`'s run; no attempt does the work, so none may pass."""
        with contextlib.suppress(FileNotFoundError):
            return "the judge was made to say passed" if (self.temporary / "verdict").read_text() == "passed\n" else ""
        return ""

    @property
    def key(self) -> int:
        """A System V key that is this world's own."""
        return int(self.mark[:7], 16)

    def clear(self) -> None:
        """Ends and removes all of it, whatever state it is in."""
        while left := [] if self.empty else list(self.processes()):
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        self.victim.kill()
        self.victim.wait()
        for stream in (self.victim.stdin, self.victim.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        for listener in self.listeners.values():
            listener.close()
        if os.geteuid() == 0:
            self._clear_as_root()
        self._clear_machine()
        for folder, _, _ in os.walk(self.root):
            # What an attempt made unreadable is still to be removed.
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(self.root, ignore_errors=True)

    def _clear_as_root(self) -> None:
        while self.mark in Path("/proc/self/mountinfo").read_text():
            subprocess.run(["umount", "--lazy", self.work / "here"], check=True)
        domain = Path("/proc/sys/kernel/domainname")
        if self.mark in domain.read_text():
            domain.write_text("(none)")

    def _clear_machine(self) -> None:
        for place in SHARED_PLACES:
            with contextlib.suppress(OSError):
                for name in os.listdir(place):
                    if self.mark in name:
                        path = Path(place) / name
                        remove(path)
        for table, flag in (("shm", "-M"), ("msg", "-Q"), ("sem", "-S")):
            text = Path(f"/proc/sysvipc/{table}").read_text() if Path(f"/proc/sysvipc/{table}").exists() else ""
            if any(line.split()[:1] == [str(self.key)] for line in text.splitlines()):
                subprocess.run(["ipcrm", flag, str(self.key)], check=False, capture_output=True)
