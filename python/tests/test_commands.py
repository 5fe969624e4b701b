"""Commands in words, and what keeps a store in order: each is the function of the command line of the same name."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import coder_core.documents as declared
from coder_core import CoderError, Store, StoreError, Task, run_repository
from conformance import breaches
from world import World, turn


def code(raised: pytest.ExceptionInfo[CoderError]) -> str:
    return raised.value.code


def test_a_correction_replaces_the_prompt_and_is_safe_to_repeat(world: World, store: Store) -> None:
    world.submit("greet")
    receipt = store.correct("greet", "Say goodbye.", "changed my mind", command_id="correct-1")
    assert receipt == store.correct("greet", "Say goodbye.", "changed my mind", command_id="correct-1")
    assert (receipt["command_id"], receipt["revision"], receipt["status"]) == ("correct-1", 2, "queued")
    task = store.show("greet")
    assert task["corrections"] == [{"revision": 2, "prompt": "Say goodbye.", "reason": "changed my mind"}]
    with pytest.raises(StoreError) as raised:
        store.correct("greet", "Say nothing.", "changed my mind", command_id="correct-1")
    assert code(raised) == "command_conflict"
    assert store.correct("greet", "Say nothing.", "again")["command_id"].startswith("correct-")


def test_a_finished_task_goes_on_with_another_turn(world: World, store: Store, finished: Task) -> None:
    receipt = store.continue_("greet", "Now in French.", command_id="continue-1")
    assert (receipt["status"], receipt["execution"]) == ("queued", "not_started")
    with pytest.raises(StoreError) as raised:
        store.continue_("greet", "And in German.")
    assert code(raised) == "invalid_transition"
    task = run_repository(world.grant("greet", turn("echo bonjour >greeting.txt"), turn(reply="Fait.")), store=store)
    assert (task["status"], len(task["earlier"])) == ("finished", 1)
    assert store.artifact("greet", "greeting.txt") == b"bonjour\n"
    assert store.verify("greet")["verdict"] == "verified"


@pytest.mark.parametrize("name", ["", "../x", "a b"])
def test_a_malformed_command_name_is_a_bad_value(world: World, store: Store, name: str) -> None:
    world.submit("greet")
    asks: tuple[Callable[[], object], ...] = (
        lambda: store.cancel("greet", "why", command_id=name),
        lambda: store.correct("greet", "prompt", "why", command_id=name),
        lambda: store.continue_("greet", "prompt", command_id=name),
    )
    for ask in asks:
        with pytest.raises(ValueError, match="identifier"):
            ask()
    assert store.show("greet")["revision"] == 1


def test_a_running_task_reads_a_message_before_its_next_step(world: World, store: Store) -> None:
    world.submit("greet")
    with pytest.raises(StoreError) as raised:
        store.steer("greet", "Hurry.")
    assert code(raised) == "not_running"
    for name in ("up", "down"):
        os.mkfifo(world.worktree / name)
    grant = world.grant("greet", turn("echo ready >up; cat down"), turn("echo heard >heard.txt"), turn(reply="Heard."))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_repository, grant, store=store, deadline=120)
        (world.worktree / "up").read_text(encoding="utf-8")
        for wrong in ("", "\x1b[2J", "a" * 32_769):
            with pytest.raises(StoreError) as raised:
                store.steer("greet", wrong)
            assert code(raised) == "invalid_message"
        steered = store.steer("greet", "Say it loud.")
        (world.worktree / "down").write_text("go", encoding="utf-8")
        running.result()
    assert list(breaches(steered, declared.Steered)) == []
    assert (steered["task_id"], steered["turn"], steered["status"]) == ("greet", 1, "running")
    assert "Say it loud." in str(store.view("greet", limit=200)["evidence"]["steps"])


def test_what_is_put_away_is_listed_only_on_request_and_comes_back(world: World, store: Store) -> None:
    for task in ("a", "b"):
        world.submit(task)
    store.cancel("a", "not needed")
    with pytest.raises(StoreError) as raised:
        store.archive(["b"])
    assert code(raised) == "invalid_transition"
    archived = store.archive(["a"])
    assert list(breaches(archived, list[declared.Archived])) == []
    assert [task["task_id"] for task in archived] == ["a"]
    assert [task["task_id"] for task in store.list()] == ["b"]
    assert [task["task_id"] for task in store.list(archived=True)] == ["a", "b"]
    store.restore("a")
    store.restore("a")
    assert [task["task_id"] for task in store.list()] == ["a", "b"]
    assert store.archive(older_than=86_400.0) == []
    assert [task["task_id"] for task in store.archive(older_than=0)] == ["a"]


def test_what_an_archive_is_asked_is_checked_first(world: World, store: Store) -> None:
    world.submit("a")
    with pytest.raises(TypeError, match="name tasks"):
        store.archive()
    with pytest.raises(TypeError, match="sequence of tasks"):
        store.archive("a")
    with pytest.raises(ValueError, match="identifier"):
        store.archive(["../a"])
    for age in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="number of seconds"):
            store.archive(older_than=age)
        with pytest.raises(ValueError, match="number of seconds"):
            store.gc(older_than=age)


def test_only_what_nothing_names_is_cleared_away(
    world: World, store: Store, finished: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    nothing = {"sweep": "remove", "cleared": [], "bytes": 0, "left": []}
    assert store.gc(older_than=0) == nothing
    lost = Path(store.path) / "blobs/ab" / ("cd" * 31)
    lost.parent.mkdir(mode=0o700, exist_ok=True)
    lost.write_bytes(b"nobody")
    assert store.gc() == nothing
    would = store.gc(dry_run=True, older_than=0)
    assert list(breaches(would, declared.Collected)) == []
    assert (would["sweep"], would["bytes"], lost.exists()) == ("dry_run", 6, True)
    assert store.gc(older_than=0)["cleared"] == [{"kind": "blob", "path": f"blobs/ab/{'cd' * 31}", "bytes": 6}]
    assert not lost.exists()
    assert store.verify("greet")["verdict"] == "verified"


def test_what_a_store_had_when_it_was_verified_may_not_be_gone(store: Store, finished: Task) -> None:
    head = store.verify("greet")["journal_head"]
    store.continue_("greet", "Once more.")
    store.cancel("greet", "no")
    written = f"{head['position']}:{head['digest']}"
    for noted in (head, written):
        names = [check["name"] for check in store.verify("greet", head=noted)["checks"]]
        assert [name for name in names if "head" in name], names
    later = store.verify("greet", head={**head, "position": head["position"] + 100})
    assert later["verdict"] == "mismatch"
    with pytest.raises(ValueError, match="head of a journal"):
        store.verify("greet", head="7")
    with pytest.raises(ValueError, match="head of a journal"):
        store.verify("greet", head={"position": 1})  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="alone"):
        store.verify("greet", head=head, document=b"{}")  # type: ignore[call-overload]


def test_a_task_whose_owner_needs_no_help_is_recovered_to_itself(store: Store, finished: Task) -> None:
    recovered = store.recover("greet")
    assert list(breaches(recovered, declared.Recovered)) == []
    assert recovered == {"task": finished, "remains": [], "git": None}
