"""The corpus: everything that must not get out of the boundary, and everything that must work in it.

    run.py PROGRAMS [--only ID…] [--users U…] [--modes M…] [--jobs N] [--verbose]

Each attempt is first made without the boundary, where it must succeed, and then with it, as root and as an ordinary user, in every
access mode and at every level; its success is judged from outside (`world.py`). Exits with 1 on any escape, on anything that does not
work, and on an attempt that proves nothing because it fails without the boundary too.
"""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rows import CLASSES, HERE, LEVELS, MODES, USERS, Attempt, RowError, Work, attempts, works
from settings import SEARCH_PATH, Programs, Setting, bare, drive, execute, expanded, filled

from world import Owner, Tools, World, differences, digest

# A user that has no account and owns nothing.
ORDINARY = 61234
ATTEMPT_SECONDS = 20


@dataclass(frozen=True)
class Result:
    """What one row did in one setting; `wrong` is empty when it is as it must be."""

    row: Attempt | Work
    setting: str
    wrong: str
    seconds: float
    missing: str = ""


@dataclass(frozen=True)
class Ground:
    """Where worlds are made and what they are made with."""

    place: Path
    tools: Tools
    programs: Programs
    # Where the larger tools are, for every program to be told.
    given: dict[str, str]
    # What the programs under test were like before anything ran.
    programs_before: dict[str, tuple[int, int, str]]

    def world(self, owner: Owner, stage: str) -> World:
        return World(self.place, owner, self.tools, stage, self.given)


def larger_tools(folder: Path) -> dict[str, str]:
    """Toolchains that lie somewhere of their own."""
    found = subprocess.run(["rustc", "--print", "sysroot"], check=False, capture_output=True, text=True) if shutil.which("rustc") else None
    return {"RUST": found.stdout.strip() if found else "/nonexistent", "TOOLS": str(folder.resolve())}


def compile_c(source: Path, into: Path, *options: str) -> None:
    subprocess.run(["cc", "-O1", "-w", *options, "-o", into, source, "-lutil", "-lpthread"], check=True)


def template(into: Path) -> None:
    """A repository of two commits and a linked worktree on a branch of its own, made by Git."""
    into.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(into), "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {f"GIT_{role}_{part}": f"p@{role}.invalid" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=into, env=environment, check=True, stdout=subprocess.DEVNULL)

    git("init", "--quiet", "--initial-branch", "main", "--template=", "project")
    for number, name in enumerate(("notes.txt", "answer.txt")):
        (into / "project" / name).write_text(f"line {number}\n")
        git("-C", "project", "add", name)
        git("-C", "project", "commit", "--quiet", "--message", name)
    (into / "project/.git/hooks").mkdir()
    (into / "project/.git/info").mkdir(exist_ok=True)
    git("-C", "project", "worktree", "add", "--quiet", "-b", "microcoder/task/1", "../work")


def ground(place: Path, binaries: Path, rows: list[Attempt | Work], given: dict[str, str], weak: Path | None) -> Ground:
    """Builds what is compiled, once, and puts the programs under test where every user can run them."""
    built = place / "built"
    built.mkdir()
    for name in ("microcoder", "coder"):
        shutil.copy2(binaries / name, built / name)
    shutil.copy2(HERE / "tools/bare.py", built / "bare.py")
    (built / "bare.py").chmod(0o755)
    compile_c(HERE / "tools/victim.c", built / "victim")
    compile_c(HERE / "tools/lent.c", built / "lent")
    compile_c(HERE / "tools/printer.c", built / "printer")
    compile_c(HERE / "tools/printer.c", built / "printer.so", "-shared", "-fPIC")
    weakened = built / "escape" if weak is not None else None
    if weak is not None and weakened is not None:
        shutil.copy2(weak, weakened)
    compiled: dict[Path, Path] = {}
    for row in rows:
        if row.path.suffix == ".c":
            if row.path not in compiled:
                compile_c(row.path, built / row.id)
                compiled[row.path] = built / row.id
            elif compiled[row.path] != built / row.id:
                os.link(compiled[row.path], built / row.id)
    template(place / "template")
    tools = Tools(
        built / "victim", built / "lent", (built / "printer").read_bytes(), (built / "printer.so").read_bytes(), place / "template"
    )
    return Ground(place, tools, Programs(built / "microcoder", built / "bare.py", weakened, built), given, digest(built))


def granted(row: Attempt | Work, world: World) -> tuple[Path, ...]:
    """What the options of a row let be written."""
    values = zip(row.options, row.options[1:], strict=False)
    return tuple(Path(expanded(value, world)) for option, value in values if option == "--write")


@contextlib.contextmanager
def watched(row: Attempt, world: World) -> Iterator[None]:
    """Looks at what an attempt uses while it runs, where that is its point."""
    over = threading.Event()
    watcher = threading.Thread(target=world.watch, args=(over,))
    if "exhausted" in row.harm:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if watcher.ident is not None:
            watcher.join()


def attempt_bare(on: Ground, row: Attempt, setting: Setting) -> str:
    """Without the boundary the attempt must do what its row says."""
    world = on.world(setting.owner, row.stage)
    try:
        with watched(row, world):
            if row.runs == "host":
                ended = drive(row, world, setting, on.programs, on.programs.bare, ATTEMPT_SECONDS)
            else:
                ended = bare(row, world, on.programs, ATTEMPT_SECONDS)
        harms = world.harms(ended.output, "")
        if missed := [kind for kind in row.harm if kind not in harms]:
            return f"proves nothing: without the boundary there is no {', '.join(missed)} but {harms or 'nothing'}\n{ended.tail()}"
        return ""
    finally:
        world.clear()


def attempt_bounded(on: Ground, row: Attempt, setting: Setting) -> str:
    """With the boundary nothing may have happened outside."""
    world = on.world(setting.owner, row.stage)
    try:
        with watched(row, world):
            if row.runs == "host":
                ended = drive(row, world, setting, on.programs, on.programs.microcoder, 2 * ATTEMPT_SECONDS)
            else:
                ended = execute(row, world, setting, on.programs, ATTEMPT_SECONDS)
        if ended.status == -9:
            return f"never ended\n{ended.tail()}"
        harms = world.harms(ended.output, ended.errors.decode(errors="replace"), granted(row, world))
        if "ran" not in row.harm:
            harms.pop("ran", None)
        if harms:
            return f"ESCAPED: {harms}\n{ended.tail()}"
        # What never began proves nothing either, unless the refusal is the point.
        if ended.status == 125 and "ran" not in row.harm and row.runs == "inside":
            return f"never ran: status 125\n{ended.tail()}"
        return ""
    finally:
        world.clear()


def attempt_without(on: Ground, row: Attempt, setting: Setting) -> str:
    """Without the layers that its row names the attempt must succeed, or the row is wrong about what stops it."""
    world = on.world(setting.owner, row.stage)
    try:
        with watched(row, world):
            ended = execute(row, world, setting, on.programs, ATTEMPT_SECONDS)
        harms = world.harms(ended.output, ended.errors.decode(errors="replace"), granted(row, world))
        missed = [kind for kind in row.harm if kind not in harms]
        return f"STOPPED all the same: no {', '.join(missed)} but {harms or 'nothing'}\n{ended.tail()}" if missed else ""
    finally:
        world.clear()


def work_bounded(on: Ground, row: Work, setting: Setting) -> str:
    """It must end well, having printed `works` last, and leave nothing outside."""
    world = on.world(setting.owner, row.stage)
    try:
        ended = execute(row, world, setting, on.programs, row.seconds)
        told = ended.errors.decode(errors="replace")
        if ended.status != 0 or ended.output.splitlines()[-1:] != [b"works"]:
            return f"BROKEN: status {ended.status}\n{ended.tail()}"
        harms = world.harms(ended.output, told)
        harms.pop("ran", None)
        if row.stage == "worktree":
            # A commit arrives in the repository, which is the point.
            harms.pop("write", None)
        if "--network" in row.options:
            harms.pop("listener", None)
        return f"BROKEN: {harms}" if harms else ""
    finally:
        world.clear()


def untouched(on: Ground) -> str:
    changed = differences(on.programs_before, digest(on.programs.compiled))
    return f"the programs under test were changed: {', '.join(changed)}" if changed else ""


def timed(row: Attempt | Work, setting: str, act: Callable[[], str]) -> Result:
    begun = time.monotonic()
    try:
        wrong = act()
    except Exception:
        wrong = traceback.format_exc()
    return Result(row, setting, wrong, time.monotonic() - begun)


def jobs(
    on: Ground, rows: list[Attempt | Work], owners: list[Owner], modes: list[str], levels: list[str], everywhere: bool
) -> Iterator[Callable[[], Result]]:
    def job(act: Callable[[Ground, Attempt, Setting], str], row: Attempt, setting: Setting, name: str) -> Callable[[], Result]:
        return lambda: timed(row, name, lambda: act(on, row, setting))

    def work(row: Work, setting: Setting) -> Callable[[], Result]:
        return lambda: timed(row, setting.name, lambda: work_bounded(on, row, setting))

    # The longest first, so that none of them is what all others wait for at the end.
    for one in sorted((row for row in rows if isinstance(row, Work)), key=lambda row: -row.seconds):
        for owner in owners:
            for mode in modes:
                if owner.name in one.users and mode in one.modes and not absent(one, on.given):
                    yield work(one, Setting(owner, mode))
    for row in rows:
        if isinstance(row, Work):
            continue
        for owner in owners:
            if owner.name in row.control:
                yield job(attempt_bare, row, Setting(owner, "full"), f"{owner.name}, without the boundary")
            for mode in modes:
                if mode not in row.allowed and (mode != "full" or row.full):
                    setting = Setting(owner, mode)
                    yield job(attempt_bounded, row, setting, setting.name)
        if on.programs.weakened is not None and row.runs == "inside":
            # One user and one mode: what differs is what the kernel gives.
            owner = owners[-1] if owners[-1].name in row.control or not row.control else owners[0]
            for level in levels:
                if everywhere or LEVELS.index(level) >= LEVELS.index(row.least):
                    setting = Setting(owner, "boundary", level)
                    yield job(attempt_bounded, row, setting, setting.name)
            for layers in row.without:
                # Without a user namespace only root can make the others.
                who = owners[0] if "user_namespace" in layers and "root" in row.control else owner
                setting = Setting(who, "boundary", without=layers)
                yield job(attempt_without, row, setting, setting.name)


# Everything that is to be done, filled before the processes that do it are made.
JOBS: list[Callable[[], Result]] = []


def ended_by_the_parent() -> None:
    """Whoever ends everything at once sends the signal to all; the parent alone decides."""
    # Not ignored, since what is started would inherit that.
    signal.signal(signal.SIGTERM, lambda *_: None)


def do(number: int) -> Result:
    return JOBS[number]()


def lesser_levels(on: Ground, owner: Owner) -> Iterator[str]:
    """The levels below the whole at which this machine runs anything at all; it says why it does not at the others."""
    program = on.programs.weakened
    for level in LEVELS[:-1] if program is not None else ():
        command = [str(program), "--level", level, "--", "/bin/true"]
        environment = {"PATH": SEARCH_PATH, "HOME": "/nonexistent"}
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            cwd=on.programs.compiled,
            env=environment,
            user=owner.user,
            group=owner.group,
            extra_groups=[],
        )
        if done.returncode == 0:
            yield level
        else:
            print(f"level {level}, {owner.name}: refused here: {done.stderr.decode().strip()}")


def absent(row: Work, given: dict[str, str]) -> str:
    """The programs a work is about that this machine lacks."""
    return ", ".join(name for name in row.needs if shutil.which(filled(name, given), path=SEARCH_PATH) is None)


def table(rows: list[Attempt | Work], results: list[Result]) -> tuple[int, int]:
    """Prints what came of it, by class, and gives back how many went wrong and how many went well."""
    wrong = [result for result in results if result.wrong]
    tried = [row for row in rows if isinstance(row, Attempt)]
    print(f"\n{'class':44} attempts  runs  escapes")
    for kind in CLASSES:
        mine = [row for row in tried if row.kind == kind]
        ran = [result for result in results if result.row in mine]
        print(f"{kind:44} {len(mine):8} {len(ran):5} {sum(bool(result.wrong) for result in ran):8}")
    ran = [result for result in results if isinstance(result.row, Attempt)]
    print(f"{'all':44} {len(tried):8} {len(ran):5} {sum(bool(result.wrong) for result in ran):8}")
    print(f"\n{'layers left out':56} attempts that then succeed")
    for layers in sorted({layers for row in tried for layers in row.without}):
        name = "without " + " and ".join(layers)
        ran = [result for result in results if result.setting.endswith(", " + name)]
        if ran:
            print(f"{', '.join(layers):56} {sum(not result.wrong for result in ran)} of {len(ran)}: ", end="")
            print(", ".join(sorted(result.row.id for result in ran if not result.wrong)))
    ran = [result for result in results if isinstance(result.row, Work)]
    broken = sum(bool(result.wrong) for result in ran)
    print(f"\n{'works':44} {len(rows) - len(tried):8} {len(ran):5} {broken:8} broken")
    return len(wrong), len(results) - len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--tools", type=Path, default=Path("/nonexistent"), help="a folder with uv, readable for everybody")
    parser.add_argument("--weakened", type=Path, help="the test-only build that can leave layers out")
    parser.add_argument("--explore", action="store_true", help="say of every attempt at every level what it does there")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--users", nargs="*", default=list(USERS), choices=USERS)
    parser.add_argument("--modes", nargs="*", default=list(MODES), choices=MODES)
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    begun = time.monotonic()
    try:
        rows: list[Attempt | Work] = [*attempts(), *works()]
    except RowError as error:
        print(f"escape: {error}")
        return 1
    if options.only:
        rows = [row for row in rows if any(word in row.id for word in options.only)]

    me = Owner("root" if os.geteuid() == 0 else "ordinary", os.geteuid(), os.getegid())
    owners = [me] if me.name == "ordinary" else [me, Owner("ordinary", ORDINARY, ORDINARY)]
    given = larger_tools(options.tools)
    owners = [owner for owner in owners if owner.name in options.users]
    skipped = [f"missing: {gone} ({row.id})" for row in rows if isinstance(row, Work) and (gone := absent(row, given))]
    if "root" not in {owner.name for owner in owners} and "root" in options.users:
        skipped.append("missing: root, as whom every attempt is tried too")
    # Outside the places that the boundary's own rules name, so that a rule that is gone shows.
    with tempfile.TemporaryDirectory(prefix="escape-", dir="/var/tmp") as folder:
        place = Path(folder)
        place.chmod(0o755)
        on = ground(place, options.programs.resolve(), rows, given, options.weakened)
        levels = list(lesser_levels(on, owners[-1]))
        JOBS.extend(jobs(on, rows, owners, options.modes, levels, options.explore))
        results = []
        # Processes, since what is done between the attempts is itself work; they find the jobs where they were forked.
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork"), initializer=ended_by_the_parent) as pool:
            # Who is asked to end leaves no world behind: what has begun is finished, what has not is not begun.
            def end(_signal: int, _frame: object) -> None:
                pool.shutdown(wait=True, cancel_futures=True)
                sys.exit(143)

            signal.signal(signal.SIGTERM, end)
            for result in pool.map(do, range(len(JOBS))):
                results.append(result)
                if result.wrong or options.verbose:
                    outcome = "FAILED" if result.wrong else "ok    "
                    print(f"{outcome} {result.row.id} ({result.setting}) {result.seconds:.2f}s", flush=True)
                    print("".join(f"    {line}\n" for line in result.wrong.splitlines()), end="", flush=True)
            if overwritten := untouched(on):
                print(overwritten)
                results.append(Result(rows[0], "the programs under test", overwritten, 0))
    wrong, right = table(rows, results)
    print(*skipped, sep="\n")
    print(f"{time.monotonic() - begun:.0f} seconds")
    strict = os.environ.get("CI") == "true" or os.environ.get("MICROCODER_TESTS_STRICT") == "1"
    failed = wrong + (len(skipped) if strict else 0)
    print(f"{right} passed, {failed} failed, {0 if strict else len(skipped)} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
