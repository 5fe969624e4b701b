"""`Boundary`: what a command can touch, how it ended, and that many run at once."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from coder_core import Boundary, BoundaryError, CoderError, Store
from world import World, processes_with


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty workspace."""
    place = tmp_path / "place"
    place.mkdir()
    return place


def test_how_a_command_ended(place: Path) -> None:
    with Boundary(place) as boundary:
        ended = boundary.run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin=b"in\xff")
    assert (ended.exit_code, ended.signal, ended.ending) == (3, None, "exited")
    assert (ended.stdout, ended.stderr) == (b"in\xff", b"oops\n")
    assert (ended.stdout_bytes, ended.stderr_bytes, ended.truncated, ended.tree_clear) == (3, 5, False, True)
    assert ended.seconds > 0
    assert ended.enforced == boundary.enforced == ended.report["enforced"]
    assert pickle.loads(pickle.dumps(ended)) == ended  # noqa: S301 - our own bytes


def test_a_signal_is_told_apart_from_a_status(place: Path) -> None:
    with Boundary(place) as boundary:
        ended = boundary.run(["sh", "-c", "kill -9 $$"])
    assert (ended.exit_code, ended.signal, ended.ending) == (None, 9, "signalled")


def test_a_timeout_ends_the_whole_tree(place: Path) -> None:
    mark = f"86397.{os.getpid()}"
    with Boundary(place) as boundary:
        ended = boundary.run(["sh", "-c", f"sleep {mark} & sleep {mark}"], timeout=0.5)
    assert (ended.exit_code, ended.signal, ended.ending) == (None, signal.SIGTERM, "deadline_exceeded")
    assert (ended.report["ending"], ended.tree_clear, processes_with(mark)) == ("deadline_exceeded", True, [])


def test_a_status_that_a_stopped_command_chose_is_no_success(place: Path) -> None:
    script = "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done"
    with Boundary(place) as boundary:
        ended = boundary.run(["sh", "-c", script], timeout=2)
    assert (ended.exit_code, ended.signal, ended.ending) == (None, None, "deadline_exceeded")
    assert ended.report["death"] == {"exited": 0}


@pytest.mark.parametrize(
    ("limit", "kept", "gap"),
    [(10, b"0123456789", None), (6, b"012789", (3, 7)), (5, b"01289", (3, 8)), (1, b"0", (1, 10)), (0, b"", (0, 10))],
)
def test_both_ends_of_long_output_are_kept(place: Path, limit: int, kept: bytes, gap: tuple[int, int] | None) -> None:
    with Boundary(place) as boundary:
        ended = boundary.run(["printf", "0123456789"], output_limit=limit)
    assert (ended.stdout, ended.stdout_gap, ended.stdout_bytes) == (kept, gap, 10)
    assert (ended.truncated, ended.stderr_gap) == (gap is not None, None)


def test_only_what_was_granted_can_be_touched(tmp_path: Path, place: Path) -> None:
    for name in ("read", "write", "sealed", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name, encoding="utf-8")
    script = "for name; do cat $name/file; echo new >$name/new && echo +; done 2>/dev/null; echo new >new && echo +"
    names = [str(tmp_path / name) for name in ("read", "write", "other", "write/sealed")]
    (tmp_path / "write" / "sealed").mkdir()
    (tmp_path / "write" / "sealed" / "file").write_text("secret", encoding="utf-8")
    with Boundary(
        place, reads=[tmp_path / "read"], writes=[str(tmp_path / "write")], sealed=[tmp_path / "sealed"]
    ) as boundary:
        ended = boundary.run(["sh", "-c", script, "sh", *names[:3]])
    assert ended.stdout == b"readwrite+\n+\n"
    assert sorted(path.name for path in tmp_path.glob("*/new")) == ["new", "new"]


@pytest.mark.parametrize("variable", ["HOME", "MICROCODER_STORE"])
def test_the_stores_of_the_user_are_out_of_reach(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    home = tmp_path / "home"
    (home / ".openagents").mkdir(parents=True)
    store = Store(home / ".openagents" / "tasks", create=True)
    (home / "notes").write_text("seen", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home if variable == "HOME" else place))
    monkeypatch.setenv("MICROCODER_STORE", store.path if variable == "MICROCODER_STORE" else "/nonexistent")
    with Boundary(place, reads=[home]) as boundary:
        ended = boundary.run(["sh", "-c", 'cat "$1/notes"; ls "$2"/* 2>/dev/null', "sh", str(home), store.path])
    assert ended.stdout == b"seen"


def test_a_read_only_workspace(place: Path) -> None:
    with Boundary(place, write=False) as boundary:
        ended = boundary.run(["sh", "-c", "echo x >x"])
    assert ended.exit_code not in {0, None}
    assert list(place.iterdir()) == []


def test_the_environment_is_not_passed_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    variables: dict[str | bytes, str | bytes] = {b"NAME": b"va\xfflue", "OTHER": "2"}
    with Boundary(place, env=variables) as boundary:
        ended = boundary.run(["sh", "-c", 'printf "%s|%s|%s" "$NAME" "$OTHER" "$TOKEN"'])
    assert ended.stdout == b"va\xfflue|2|"


def test_there_is_no_network_by_default(place: Path) -> None:
    with Boundary(place) as boundary, Boundary(place, network="host") as open_boundary:
        assert (boundary.enforced["network"], open_boundary.enforced["network"]) == ("loopback", "host")
        own = str(Path("/proc/self/ns/net").readlink())
        seen = [
            each.run(["readlink", "/proc/self/ns/net"]).stdout.decode().strip() for each in (boundary, open_boundary)
        ]
    assert seen[0] != own
    assert seen[1] == own


def test_listed_hosts_are_reached_through_a_gateway_that_records(place: Path) -> None:
    ask = "import urllib.request; urllib.request.urlopen('http://other.invalid/')"
    with Boundary(place, network="allow:unknown.invalid:443") as boundary:
        assert boundary.enforced["network"] == "listed"
        ended = boundary.run(["/usr/bin/python3", "-c", ask])
    assert b"403" in ended.stderr
    seen = [(one["host"], one["port"], one["verdict"]) for one in ended.report["connections"]["listed"]]
    assert seen == [("other.invalid", 80, "refused")]


def test_a_denial_is_told_apart_from_other_failures(place: Path) -> None:
    with Boundary(place) as boundary:
        ended = boundary.run(["touch", "/usr/local/x", "missing/y"])
    assert [(one["subject"], one["inferred"]) for one in ended.report["denied"]] == [("/usr/local/x", True)]


def test_full_access_says_that_nothing_is_held(place: Path) -> None:
    with Boundary(place, access="full") as boundary:
        assert (boundary.enforced["root"], boundary.enforced["network"]) == ("host", "host")
        assert boundary.run(["pwd"]).stdout == os.fsencode(place.resolve()) + b"\n"
    # A wall that cannot be held is refused and not forgotten.
    with pytest.raises(ValueError, match="cannot be"):
        Boundary(place, access="full", network="none")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"access": "everything"}, ValueError),
        ({"network": "some"}, ValueError),
        ({"memory": -1}, OverflowError),
        ({"require": "much"}, ValueError),
        ({"reads": "/usr"}, TypeError),
        ({"env": {"A": 1}}, TypeError),
        ({"surprise": 1}, TypeError),
    ],
)
def test_arguments_out_of_their_values(place: Path, arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Boundary(place, **arguments)  # type: ignore[arg-type]


def test_bounds_and_the_level_are_told(place: Path) -> None:
    with Boundary(place, require="landlock", open_files=64, scratch=8 << 20) as boundary:
        ended = boundary.run(["sh", "-c", "ulimit -n; head -c 16M /dev/zero >$HOME/large; sleep 60"])
    assert ended.enforced["level"] in ("complete", "namespaces", "landlock")
    assert (ended.enforced["open_files"], ended.enforced["scratch"]) == ({"per_process": 64}, {"counted": 8 << 20})
    assert (ended.ending, ended.stdout, ended.report["out_of_scratch"]) == ("stopped", b"64\n", True)
    with pytest.raises(CoderError) as raised:
        Boundary(place, pids=1)
    assert "limits.pids" in str(raised.value)


def test_a_debugger_only_where_it_is_allowed(place: Path) -> None:
    attempt = ["python3", "-c", "import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"]
    with Boundary(place) as usual, Boundary(place, allow_debugger=True) as allowing:
        assert (usual.run(attempt).exit_code, allowing.run(attempt).exit_code) == (1, 0)
        assert (usual.enforced["debugger"], allowing.enforced["debugger"]) == ("refused", "allowed")


def test_a_boundary_that_cannot_be_had(place: Path) -> None:
    with pytest.raises(CoderError) as missing:
        Boundary(place / "missing")
    assert missing.value.code == "io"
    with pytest.raises(BoundaryError) as raised:
        Boundary(place, reads=[place / "missing"])
    assert raised.value.code == "path_unusable"


@pytest.mark.parametrize(
    ("argv", "error"),
    [([], ValueError), ("true", TypeError), (b"true", TypeError), (["a\0b"], ValueError), ([1], TypeError)],
)
def test_what_is_no_command(place: Path, argv: object, error: type[Exception]) -> None:
    with Boundary(place) as boundary, pytest.raises(error):
        boundary.run(argv)  # type: ignore[arg-type]


def test_a_program_that_does_not_exist(place: Path) -> None:
    with Boundary(place) as boundary, pytest.raises(BoundaryError) as raised:
        boundary.run(["no-such-program"])
    assert raised.value.code == "program_not_found"


def test_the_scratch_lasts_as_long_as_the_boundary(place: Path) -> None:
    boundary = Boundary(place)
    boundary.run(["sh", "-c", "echo kept >$HOME/file"])
    assert boundary.run(["sh", "-c", "cat $HOME/file"]).stdout == b"kept\n"
    with boundary as entered:
        assert entered is boundary
    boundary.close()
    with pytest.raises(BoundaryError) as raised:
        boundary.run(["true"])
    assert raised.value.code == "closed"


def test_closing_leaves_no_scratch(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    with Boundary(place) as boundary:
        boundary.run(["sh", "-c", "echo x >$HOME/x"])
        assert len(list(scratch.iterdir())) == 1
    assert list(scratch.iterdir()) == []


def test_closing_waits_for_nobody_and_breaks_nothing(place: Path) -> None:
    os.mkfifo(place / "up")
    os.mkfifo(place / "down")
    boundary = Boundary(place)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(boundary.run, ["sh", "-c", "echo x >up; cat down; echo still >$HOME/x && cat $HOME/x"])
        (place / "up").read_bytes()
        boundary.close()
        (place / "down").write_bytes(b"closed, ")
        assert running.result().stdout == b"closed, still\n"


def test_commands_of_several_threads_overlap(place: Path) -> None:
    """Each of two commands waits for the other: they end only if both run at the same time, in one boundary."""
    os.mkfifo(place / "first")
    os.mkfifo(place / "second")
    scripts = ["echo a >first; cat second", "cat first; echo b >second"]
    with Boundary(place) as boundary, ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda script: boundary.run(["sh", "-c", script], timeout=120), scripts))
    assert [(each.exit_code, each.stdout) for each in ended] == [(0, b"b\n"), (0, b"a\n")]


def test_many_threads_share_one_boundary(place: Path) -> None:
    with Boundary(place) as boundary, ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda number: boundary.run(["echo", str(number)]), range(32)))
    assert [int(each.stdout) for each in ended] == list(range(32))


def test_many_commands_leave_no_descriptor_and_no_thread(place: Path) -> None:
    def held() -> list[int]:
        return [len(list(Path("/proc/self", kind).iterdir())) for kind in ("fd", "task")]

    before = held()
    for _ in range(3):
        with Boundary(place) as boundary:
            for _ in range(5):
                boundary.run(["true"])
            boundary.run(["sleep", "60"], timeout=0.01)
    assert held() == before


@settings(max_examples=15, deadline=None)
@given(some.lists(some.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=20), some.binary())
def test_every_byte_arrives(tmp_path_factory: pytest.TempPathFactory, arguments: list[bytes], stdin: bytes) -> None:
    place = tmp_path_factory.mktemp("place", numbered=True)
    forms = [argument if index % 2 else os.fsdecode(argument) for index, argument in enumerate(arguments)]
    with Boundary(place) as boundary:
        ended = boundary.run(["sh", "-c", 'for word; do printf "%s:" "$word"; done; cat', "sh", *forms], stdin=stdin)
    assert ended.stdout == b"".join(argument + b":" for argument in arguments) + stdin


INTERRUPTED = """
import sys
from coder_core import Boundary
place, mark = sys.argv[1:]
with Boundary(place) as boundary:
    try:
        boundary.run(["sh", "-c", f"echo ready >up; sleep {mark}"])
    except KeyboardInterrupt:
        print("interrupted,", boundary.run(["echo", "usable"]).stdout.decode(), end="")
"""


def test_an_interrupt_ends_the_command(place: Path) -> None:
    os.mkfifo(place / "up")
    mark = f"86396.{os.getpid()}"
    command = [sys.executable, "-c", INTERRUPTED, str(place), mark]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        (place / "up").read_bytes()
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=120)
    assert (child.returncode, output, processes_with(mark)) == (0, "interrupted, usable\n", [])


FORKED = """
import os, sys
from coder_core import Boundary, CoderError, Store
place, store = sys.argv[1:]
boundary, store = Boundary(place), Store(store, create=True)
boundary.run(["sh", "-c", "echo ours >$HOME/x"])
child = os.fork()
if child == 0:
    for use in (lambda: boundary.run(["true"]), store.list):
        try:
            use()
        except CoderError as error:
            print(type(error).__name__, error.code, flush=True)
    del boundary, store, use
    os._exit(0)
os.waitpid(child, 0)
print(boundary.run(["sh", "-c", "cat $HOME/x"]).stdout, store.list())
"""


def test_a_forked_child_neither_uses_nor_removes_what_is_its_parents(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(place), str(tmp_path / "store")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout  # noqa: S603
    assert output == "BoundaryError forked\nStoreError forked\nb'ours\\n' []\n"


def test_git_works_in_a_linked_worktree(world: World) -> None:
    with Boundary(world.worktree) as boundary:
        ended = boundary.run(["git", "status", "--porcelain"])
    assert (ended.exit_code, ended.stdout) == (0, b"")
