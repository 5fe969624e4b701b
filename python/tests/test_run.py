"""`run_repository`: from exact bytes to a verified result, and every way in which a caller stops it."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import coder_core
from coder_core import Refused, Store, StoreError, Task, run_repository
from world import World, processes_with, turn


def test_a_recorded_run_from_end_to_end(world: World, store: Store, finished: Task) -> None:
    assert (finished["status"], finished["execution"], finished["cancellation_reason"]) == (
        "finished",
        "finished",
        None,
    )
    assert finished == store.show("greet")
    result = finished["run"]["result"]
    assert (result["exit_code"], result["stop_requested"], result["group_clear"]) == (0, False, True)
    assert (world.worktree / "greeting.txt").read_text(encoding="utf-8") == "hello\n"
    assert result["candidate_snapshot"] == coder_core.snapshot(world.worktree).digest
    assert store.verify("greet")["verdict"] == "verified"


def test_the_controller_is_the_extension(store: Store, finished: Task) -> None:
    steps = store.view("greet")["evidence"]["steps"]
    controller = next(step["extra"]["controller"] for step in steps if "controller" in step.get("extra", {}))
    assert Path(controller["path"]).name == "_core.abi3.so"
    assert controller["version"] == coder_core.__version__


def test_a_grant_and_a_store_by_their_paths(world: World, store: Store) -> None:
    world.submit("greet")
    path = world.home / "grant.json"
    path.write_bytes(world.grant("greet", turn(reply="Nothing to do.")))
    task = run_repository(str(path), store=os.fsencode(world.store_path), deadline=600)
    assert (task["status"], task["cancellation_reason"]) == ("finished", None)
    assert task["run"]["admission"]["grant_request"] == path.read_text(encoding="utf-8")


def test_a_grant_is_used_once(world: World, store: Store) -> None:
    world.submit("greet")
    grant = world.grant("greet", turn(reply="Nothing to do."))
    run_repository(grant, store=store)
    with pytest.raises(Refused) as raised:
        run_repository(grant, store=store)
    assert raised.value.code == "not_queued"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"expected_revision": 7}, "grant_mismatch"),
        ({"program": "/bin/cat"}, "not_shell"),
        ({"memory_bytes": 1}, "grant_field"),
        ({"surprise": 1}, "grant_shape"),
    ],
)
def test_a_grant_that_does_not_fit_changes_nothing(
    world: World, store: Store, changed: dict[str, object], code: str
) -> None:
    world.submit("greet")
    before = store.show("greet")
    with pytest.raises(Refused) as raised:
        run_repository(world.grant("greet", turn(reply="No."), **changed), store=store)
    assert (raised.value.code, store.show("greet")) == (code, before)


def test_bytes_that_are_no_grant(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Refused) as raised:
        run_repository(b"{", store=store)
    assert raised.value.code == "grant_text"
    long = tmp_path / "long.json"
    long.write_bytes(b" " * 70_000)
    with pytest.raises(Refused) as raised:
        run_repository(long, store=store)
    assert raised.value.code == "grant_text"
    with pytest.raises(coder_core.CoderError) as missing:
        run_repository(tmp_path / "missing.json", store=store)
    assert missing.value.code == "io"


def test_a_store_that_is_not_there(world: World, tmp_path: Path) -> None:
    world.submit("greet")
    grant = world.grant("greet", turn(reply="No."))
    with pytest.raises(StoreError) as raised:
        run_repository(grant, store=tmp_path / "nowhere")
    assert raised.value.code == "no_store"


@pytest.mark.parametrize("deadline", [0, -1.0, float("nan"), float("inf")])
def test_a_deadline_is_a_length_of_time(store: Store, deadline: float) -> None:
    with pytest.raises(ValueError, match="number of seconds"):
        run_repository(b"", store=store, deadline=deadline)


def test_a_deadline_before_admission_leaves_the_task_as_it_was(world: World, store: Store) -> None:
    world.submit("greet")
    before = store.show("greet")
    grant = world.grant("greet", turn(reply="Never asked."))
    with pytest.raises(coder_core.CoderError) as raised:
        run_repository(grant, store=store, deadline=1e-6)
    assert (raised.value.code, store.show("greet")) == ("stopped", before)
    assert run_repository(grant, store=store)["execution"] == "finished"


def test_a_deadline_cancels_and_the_task_says_so(world: World, store: Store) -> None:
    deadline = 1.5
    world.submit("greet")
    mark = f"86399.{os.getpid()}"
    grant = world.grant("greet", turn(f"sleep {mark}"), turn(reply="Slept."))
    task = run_repository(grant, store=store, deadline=deadline)
    assert (task["status"], task["execution"]) == ("finished", "stopped")
    assert task["cancellation_reason"] == "the caller's deadline of 1.5 seconds passed"
    assert (task["run"]["result"]["stop_requested"], task["run"]["result"]["group_clear"]) == (True, True)
    assert processes_with(mark) == []
    assert store.verify("greet")["verdict"] == "verified"


def test_other_threads_run_while_a_run_waits_for_one(world: World, store: Store) -> None:
    world.submit("greet")
    for name in ("up", "down"):
        os.mkfifo(world.worktree / name)
    grant = world.grant("greet", turn("echo ready >up; cat down >heard.txt"), turn(reply="Heard."))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_repository, grant, store=store, deadline=120)
        # Both block until the command of the run opens the other end; a run that held the lock of the interpreter would
        # never come to an end.
        said = (world.worktree / "up").read_text(encoding="utf-8")
        seen = store.view("greet")
        (world.worktree / "down").write_text("from Python", encoding="utf-8")
        task = running.result()
    assert (said, seen["task"]["status"], seen["evidence"]["state"]) == ("ready\n", "running", "unsealed")
    assert (task["status"], task["cancellation_reason"]) == ("finished", None)
    assert store.artifact("greet", "heard.txt") == b"from Python"


def test_a_running_task_is_cancelled_through_the_store(world: World, store: Store) -> None:
    world.submit("greet")
    os.mkfifo(world.worktree / "up")
    grant = world.grant("greet", turn("echo ready >up; sleep 86400"), turn(reply="Slept."))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_repository, grant, store=store)
        (world.worktree / "up").read_text(encoding="utf-8")
        assert store.cancel("greet", "enough")["status"] == "cancel_requested"
        task = running.result()
    assert (task["status"], task["execution"], task["cancellation_reason"]) == ("finished", "stopped", "enough")


INTERRUPTED_RUN = """
import json, sys
from pathlib import Path
from coder_core import run_repository, Store
grant, store = sys.argv[1:]
try:
    run_repository(grant, store=store)
except KeyboardInterrupt:
    print(json.dumps(Store(store).show("greet")))
"""


def test_an_interrupt_cancels_the_run_and_leaves_nothing(world: World, store: Store) -> None:
    world.submit("greet")
    os.mkfifo(world.worktree / "up")
    mark = f"86398.{os.getpid()}"
    path = world.home / "grant.json"
    path.write_bytes(world.grant("greet", turn(f"echo ready >up; sleep {mark}"), turn(reply="Slept.")))
    command = [sys.executable, "-c", INTERRUPTED_RUN, str(path), str(world.store_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:  # noqa: S603
        (world.worktree / "up").read_text(encoding="utf-8")
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    task = json.loads(output)
    assert (task["status"], task["execution"]) == ("finished", "stopped")
    assert task["cancellation_reason"] == "the calling program was interrupted"
    assert task["run"]["result"]["group_clear"] is True
    assert processes_with(mark) == []
