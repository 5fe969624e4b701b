"""Repairs each project as a person would, once per way of generating, and lets the project's own judge decide.

Every test starts from a fresh clone in an empty world of its own and looks at `microcoder` from outside: exit codes,
printed JSON, files, processes. It builds nothing, fetches nothing, and mocks only the model.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

# No prompt, trace, journal or output may ever hold it.
KEY = "sk-canary-5b1c9a6e7d"
KEY_VARIABLE = "REPAIR_TEST_KEY"
MODEL = "recorded/repairer"
PROVIDERS = ("scripted", "chat", "responses")
COMMAND_SECONDS = 600
# Where a command finds its programs under each access.
SEARCH_PATHS = {"boundary": "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin", "toolchains": os.environ["PATH"]}


class FoundError(Exception):
    """What a test found wrong."""


def check(holds: bool, message: str, *details: object) -> None:
    if not holds:
        raise FoundError("\n".join([message, *(str(detail) for detail in details)]))


def tree(root: Path, skip: Sequence[str] = ()) -> dict[str, tuple[int, str | None]]:
    """Every entry below `root` with what it is and holds, but for the names in `skip` at the top."""
    entries = {}
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        if here == root:
            folders[:] = [name for name in folders if name not in skip]
            files = [name for name in files if name not in skip]
        for name in folders + files:
            path = here / name
            mode = path.lstat().st_mode
            if path.is_symlink():
                held = str(path.readlink())
            elif path.is_file():
                held = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                held = None
            entries[str(path.relative_to(root))] = (mode, held)
    return entries


def last(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """The ends of what a process printed."""
    return done.stdout[-6000:], done.stderr[-6000:]


class World:
    """An empty home, a temporary folder and a store, and the programs under test run in them."""

    def __init__(self, options: argparse.Namespace, root: Path) -> None:
        self.programs = Path(options.programs)
        self.root = root
        self.home = root / "home"
        self.temporary = root / "tmp"
        self.store = root / "store"
        self.home.mkdir()
        self.temporary.mkdir()
        home = Path.home()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            # The home is empty, so a toolchain in the person's home has to be named, as in a shell's profile.
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
            KEY_VARIABLE: KEY,
            # Who takes a candidate commits it.
            **{
                f"GIT_{role}_{part}": f"person@{role}.invalid"
                for role in ("AUTHOR", "COMMITTER")
                for part in ("NAME", "EMAIL")
            },
        }

    def call(self, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The finished process; its streams are text."""
        return subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd or self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def succeed(self, *arguments: object, cwd: Path | None = None) -> str:
        """What a command prints, which must exit with 0."""
        done = self.call(*arguments, cwd=cwd)
        check(done.returncode == 0, f"{arguments} exits with {done.returncode}", *last(done))
        return done.stdout

    def git(self, repository: Path, *arguments: object) -> str:
        return self.succeed("git", "-C", repository, *arguments)

    def microcoder(self, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.call(self.programs / "microcoder", *arguments, cwd=cwd)

    def coder(self, *arguments: object) -> str:
        return self.succeed(self.programs / "coder", *arguments, "--store", self.store)


class Project:
    """One published project and what is known of it."""

    def __init__(self, options: argparse.Namespace, name: str) -> None:
        self.folder = Path(options.projects) / name
        self.cache = Path(options.cache) / name
        self.conversation = self.folder / "conversation.json"
        described = json.loads((self.folder / "project.json").read_text(encoding="utf-8"))
        self.revision: str = described["revision"]
        self.prompt: str = described["prompt"]
        self.access: str = described["access"]
        self.tools: list[str] = described["tools"]
        self.changed: list[str] = described["changed"]
        self.rejects_with: str = described["judge"]["rejects_the_original_with"]

    def clone(self, world: World) -> Path:
        """A person's checkout of it."""
        for tool in self.tools:
            found = shutil.which(tool, path=SEARCH_PATHS[self.access])
            check(found is not None, f"{tool} is needed in one of {SEARCH_PATHS[self.access]}")
        checkout = world.root / "checkout"
        world.succeed("git", "clone", "--quiet", "--no-hardlinks", self.cache / "repository", checkout)
        check(world.git(checkout, "rev-parse", "HEAD").strip() == self.revision, "the clone is at the pinned revision")
        return checkout

    def judged(self, world: World, candidate: Path) -> subprocess.CompletedProcess[str]:
        """The judge's process: the candidate is the working directory, and nothing of it can be changed."""
        before = tree(candidate)
        report = world.root / "exec.json"
        judge = self.cache / "judge"
        done = world.microcoder(
            *("exec", "--read-only", "--access", self.access, "--network", "none", "--timeout", COMMAND_SECONDS),
            *("--read", judge, "--read", self.folder, "--report", report),
            *("--", "bash", self.folder / "judge.sh", judge),
            cwd=candidate,
        )
        check(tree(candidate) == before, "judging leaves the candidate as it is")
        check(report.is_file(), "the boundary reports what was enforced", done.stderr)
        return done


@contextlib.contextmanager
def served(project: Project, wire: str, world: World) -> Iterator[str]:
    """A model server on the loopback: its endpoint, and at the end the proof that it served every turn."""
    report, port = world.root / "served.json", world.root / "port"
    server = subprocess.Popen(
        [
            *(sys.executable, str(Path(__file__).with_name("serve_conversation.py"))),
            *("--conversation", str(project.conversation), "--model", MODEL, "--key", KEY),
            *("--wire", wire, "--report", str(report), "--port", str(port)),
        ],
        stdin=subprocess.DEVNULL,
    )
    try:
        while not port.exists():
            check(server.poll() is None, "the model server starts")
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port.read_text(encoding='utf-8')}/v1"
    finally:
        server.terminate()
        server.wait()
        told = json.loads(report.read_text(encoding="utf-8"))
        check(told["failures"] == [], "every prompt is as the conversation expects", *told["failures"])
    check(told["served"] == told["turns"], f"all {told['turns']} turns are asked for, not {told['served']}")


def scripted(project: Project, world: World, checkout: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """The process of a run with a recorded conversation."""
    return world.microcoder(
        *("run", project.prompt, "--repo", checkout, "--store", world.store, "--access", project.access, "--json"),
        *("--provider", "scripted", "--script", script),
    )


def repair(project: Project, provider: str, world: World, checkout: Path) -> dict[str, Any]:
    """Runs the agent; what it printed, as JSON."""
    if provider == "scripted":
        done = scripted(project, world, checkout, project.conversation)
    else:
        api = {"chat": "chat-completions", "responses": "responses"}[provider]
        with served(project, provider, world) as endpoint:
            done = world.microcoder(
                *(
                    "run",
                    project.prompt,
                    "--repo",
                    checkout,
                    "--store",
                    world.store,
                    "--access",
                    project.access,
                    "--json",
                ),
                *("--provider", "openai", "--model", MODEL, "--endpoint", endpoint, "--api", api),
                *("--credential-env", KEY_VARIABLE),
            )
    check(done.returncode == 0, f"the run exits with {done.returncode}", *last(done))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def the_original_fails(project: Project, world: World) -> None:
    """The judge can tell the bug: it refuses the project as it was published."""
    done = project.judged(world, project.clone(world))
    check(done.returncode not in (0, 124, 125), f"the judge exits with {done.returncode}", done.stdout, done.stderr)
    words = project.rejects_with
    check(words in done.stdout + done.stderr, f"the judge fails at {words}", done.stdout, done.stderr)


def is_repaired(project: Project, provider: str, world: World) -> None:
    """The whole way: run, look at the candidate, judge it, verify the evidence, find nothing left behind."""
    checkout = project.clone(world)
    before = (tree(checkout, skip=[".git"]), own_state(world, checkout))
    result = repair(project, provider, world, checkout)

    after = (tree(checkout, skip=[".git"]), own_state(world, checkout))
    check(after == before, "the person's checkout is as it was", before[1], after[1])
    check(result["ending"] == "model_finished", f"the run ends as {result['ending']}")
    task, candidate = result["task"]["task_id"], Path(result["worktree"])
    changed = world.git(candidate, "status", "--porcelain", "--untracked-files=all").splitlines()
    check(sorted(line[3:] for line in changed) == project.changed, "the candidate changes what it should", changed)

    done = project.judged(world, candidate)
    check(done.returncode == 0, "the judge accepts the candidate", *last(done))
    world.coder("task", "verify", task)
    check(KEY.encode() not in b"".join(held_bytes(world.store)), "the store does not hold the key")
    check(KEY not in json.dumps(result), "the output does not hold the key")
    check(list(world.temporary.iterdir()) == [], "nothing is left in the temporary folder", *world.temporary.iterdir())
    check(list(world.home.iterdir()) == [], "nothing is left in the home folder", *world.home.iterdir())


def is_taken(project: Project, world: World) -> None:
    """The printed command brings the candidate into the person's checkout, and the judge accepts what is there."""
    checkout = project.clone(world)
    result = repair(project, "scripted", world, checkout)
    world.succeed("bash", "-c", f"PATH={world.programs}:$PATH; {result['take']}")
    world.git(checkout, "commit", "--quiet", "--message", "Take the candidate")
    check(world.git(checkout, "status", "--porcelain") == "", "the checkout is clean")
    changed = world.git(checkout, "diff", "--name-only", project.revision).splitlines()
    check(sorted(changed) == project.changed, "the checkout has the change", changed)
    done = project.judged(world, checkout)
    check(done.returncode == 0, "the judge accepts the checkout", *last(done))


def an_unfit_conversation_is_no_repair(project: Project, world: World) -> None:
    """A turn whose expectation does not hold is never played, so the candidate never gets its change."""
    conversation = json.loads(project.conversation.read_text(encoding="utf-8"))
    conversation["turns"][1]["expect"].append({"new_text_contains": "what no command printed"})
    script = world.root / "unfit.json"
    script.write_text(json.dumps(conversation), encoding="utf-8")
    done = scripted(project, world, project.clone(world), script)
    check(done.returncode == 1, f"the run exits with {done.returncode}", *last(done))
    result = json.loads(done.stdout)
    check(result["ending"] != "model_finished", f"the run ends as {result['ending']}")
    check(result["changes"] == [], "nothing is changed", result["changes"])


def an_altered_record_is_found(project: Project, world: World) -> None:
    """One changed byte of the trace, and the evidence no longer verifies."""
    result = repair(project, "scripted", world, project.clone(world))
    (trace,) = world.store.glob("*.jsonl")
    held = bytearray(trace.read_bytes())
    place = held.index(b"Ran 7")
    held[place] ^= 1
    trace.chmod(0o600)
    trace.write_bytes(held)
    task = result["task"]["task_id"]
    done = world.call(world.programs / "coder", "task", "verify", task, "--store", world.store)
    check(done.returncode == 1, f"the verification exits with {done.returncode}", *last(done))
    check(json.loads(done.stdout)["verdict"] == "mismatch", "the verdict is a mismatch", *last(done))


def own_state(world: World, checkout: Path) -> dict[str, Any]:
    """What belongs to the person in a checkout's Git folder: not the task's own branch and worktree."""
    refs = world.git(checkout, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    git = checkout / ".git"
    return {
        "head": (git / "HEAD").read_text(encoding="utf-8"),
        "status": world.git(checkout, "status", "--porcelain", "--ignored"),
        "refs": [ref for ref in refs if "microcoder" not in ref],
        "config": (git / "config").read_bytes(),
        "hooks": tree(git / "hooks"),
        "stash": world.git(checkout, "stash", "list"),
    }


def held_bytes(root: Path) -> Iterator[bytes]:
    return (path.read_bytes() for path in root.rglob("*") if path.is_file())


def processes_in(root: Path) -> list[tuple[int, str]]:
    """Processes that work below a folder or name it in their command line; but for this one."""
    mark, found = str(root).encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            if mark in words or (entry / "cwd").readlink().is_relative_to(root):
                found.append((int(entry.name), words.replace(b"\0", b" ").decode(errors="replace")))
        except OSError:
            continue
    return found


Test = Callable[[World], None]


def run_one(options: argparse.Namespace, name: str, test: Test) -> bool:
    """Runs a test in its world and says how it went."""
    root = Path(tempfile.mkdtemp(prefix="repair-"))
    started = time.monotonic()
    fault = None
    try:
        test(World(options, root))
        left = processes_in(root)
        for process, _ in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        check(left == [], "no process is left behind", *left)
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        check(str(root) not in mounts, "no mount is left behind")
    except FoundError as failure:
        fault = str(failure)
    except Exception:
        fault = traceback.format_exc()
    took = time.monotonic() - started
    print(f"{'FAILED' if fault else 'ok'} {name} ({took:.1f} s)", flush=True)
    if fault:
        print("    " + fault.replace("\n", "\n    "), flush=True)
    if fault and options.keep:
        print(f"    kept in {root}", flush=True)
    else:
        shutil.rmtree(root)
    return fault is None


def tests_of(options: argparse.Namespace) -> dict[str, Test]:
    """Every test by its name."""
    tests: dict[str, Test] = {}
    for folder in sorted(Path(options.projects).iterdir()):
        if not folder.is_dir():
            continue
        project = Project(options, folder.name)
        tests[f"{folder.name}::the_original_fails"] = partial(the_original_fails, project)
        tests[f"{folder.name}::is_taken"] = partial(is_taken, project)
        for provider in PROVIDERS:
            tests[f"{folder.name}::is_repaired_by_{provider}"] = partial(is_repaired, project, provider)
        if project.access == "boundary":
            for test in (an_unfit_conversation_is_no_repair, an_altered_record_is_found):
                tests[f"{folder.name}::{test.__name__}"] = partial(test, project)
    return tests


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="the folder of microcoder and coder")
    parser.add_argument("--projects", required=True, help="the folder of the projects")
    parser.add_argument("--cache", required=True, help="the folder of the fetched projects")
    parser.add_argument("--keep", action="store_true", help="keep the world of a test that fails")
    parser.add_argument("--list", action="store_true", help="print the tests' names")
    parser.add_argument("names", nargs="*", help="run only tests whose names begin so")
    options = parser.parse_args()
    chosen = {
        name: test
        for name, test in tests_of(options).items()
        if not options.names or any(name.startswith(wanted) for wanted in options.names)
    }
    if options.list:
        print("\n".join(chosen))
        return 0
    passed = sum([run_one(options, name, test) for name, test in chosen.items()])
    failed = len(chosen) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
