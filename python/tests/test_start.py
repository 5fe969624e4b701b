"""Runs that outlive who started them, bounded commands, and what a killed owner leaves."""

import json
import os
import signal
from pathlib import Path

import pytest

import coder_core.documents as declared
from coder_core import Refused, Store, StoreError, run_bounded, start
from conformance import breaches
from world import World, ended, git, turn


def said(pending: declared.Pending) -> list[str]:
    return Path(pending["diagnostic_path"]).read_text(encoding="utf-8").splitlines()


def test_a_bounded_command_runs_once_to_its_end(world: World, store: Store) -> None:
    world.submit_bounded("count")
    grant = world.bounded_grant("count", "wc -l <README.md; exit 3")
    task = run_bounded(grant, store=store)
    assert list(breaches(task, declared.Task)) == []
    result = task["run"]["result"]
    assert (result["ending"], result["exit_code"], result["group_clear"]) == ("exited", 3, True)
    assert store.verify("count")["verdict"] == "verified"
    with pytest.raises(Refused) as raised:
        run_bounded(grant, store=store)
    assert raised.value.code == "not_queued"
    world.submit("greet")
    with pytest.raises(Refused) as raised:
        run_bounded(world.grant("greet", turn(reply="Nothing.")), store=store)
    assert raised.value.code == "grant_field"


def test_a_deadline_ends_a_bounded_command(world: World, store: Store) -> None:
    world.submit_bounded("sleep")
    task = run_bounded(world.bounded_grant("sleep", "exec sleep 86400"), store=store, deadline=1.5)
    assert (task["execution"], task["run"]["result"]["group_clear"]) == ("stopped", True)
    assert task["cancellation_reason"] == "the caller's deadline of 1.5 seconds passed"


@pytest.mark.parametrize("kind", ["repository", "bounded"])
def test_a_started_run_is_on_its_own(world: World, store: Store, kind: str) -> None:
    script = "echo ready >up; cat down; echo hello >greeting.txt"
    for name in ("up", "down"):
        os.mkfifo(world.worktree / name)
    if kind == "bounded":
        world.submit_bounded("greet")
        grant = world.bounded_grant("greet", script)
    else:
        world.submit("greet")
        grant = world.grant("greet", turn(script), turn(reply="Done."))
    pending = start(grant, store=store)
    assert list(breaches(pending, declared.Pending)) == []
    (world.worktree / "up").read_text(encoding="utf-8")
    owner = pending["owner_process"]
    assert (os.getsid(owner), owner != os.getpid()) == (owner, True)
    assert store.show("greet")["status"] == "running"
    with pytest.raises(Refused) as raised:
        start(grant, store=store)
    assert raised.value.code == "not_queued"
    (world.worktree / "down").write_text("go", encoding="utf-8")
    ended(owner)
    task = store.show("greet")
    assert (task["status"], task["execution"]) == ("finished", "finished")
    assert json.loads(said(pending)[-1]) == task
    assert store.artifact("greet", "greeting.txt") == b"hello\n"
    steps = store.view("greet")["evidence"]["steps"]
    controller = next(step["extra"]["controller"] for step in steps if "controller" in step.get("extra", {}))
    assert Path(controller["path"]).name == "_core.abi3.so"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_a_started_run(world: World, store: Store, number: signal.Signals) -> None:
    world.submit_bounded("sleep")
    os.mkfifo(world.worktree / "up")
    pending = start(world.bounded_grant("sleep", "echo ready >up; exec sleep 86400"), store=store)
    (world.worktree / "up").read_text(encoding="utf-8")
    os.kill(pending["owner_process"], number)
    ended(pending["owner_process"])
    task = store.show("sleep")
    assert (task["status"], task["execution"]) == ("finished", "stopped")
    assert json.loads(said(pending)[-1]) == task


def test_what_only_the_started_process_finds_wrong_is_in_its_diagnostic(world: World, store: Store) -> None:
    world.submit("greet")
    world.submit_bounded("count")
    wrong = world.grant("greet", turn(reply="No."), expected_source_snapshot="0" * 64)
    pending = start(wrong, store=store)
    ended(pending["owner_process"])
    assert json.loads(said(pending)[-1])["error"]["code"] == "grant_mismatch"
    assert store.show("greet")["status"] == "queued"


def test_what_can_be_found_wrong_at_once_starts_nothing(world: World, store: Store) -> None:
    world.submit("greet")
    with pytest.raises(Refused) as raised:
        start(world.grant("greet", turn(reply="No."), expected_revision=7), store=store)
    assert raised.value.code == "grant_mismatch"
    with pytest.raises(StoreError) as missing:
        start(world.grant("greet", turn(reply="No.")), store=world.home / "nowhere")
    assert missing.value.code == "no_store"
    assert not (world.store_path / "launch").exists()


def test_a_killed_run_is_recovered_with_what_it_had_committed(world: World, store: Store) -> None:
    world.submit("greet")
    os.mkfifo(world.worktree / "up")
    commit = "echo hello >greeting.txt; git add greeting.txt; git commit -q -m inside; echo ready >up; exec sleep 86400"
    pending = start(world.grant("greet", turn(commit), turn(reply="Done.")), store=store)
    (world.worktree / "up").read_text(encoding="utf-8")
    with pytest.raises(StoreError) as raised:
        store.recover("greet")
    assert raised.value.code == "store_busy"
    os.kill(pending["owner_process"], signal.SIGKILL)
    ended(pending["owner_process"])
    recovered = store.recover("greet")
    assert list(breaches(recovered, declared.Recovered)) == []
    result = recovered["task"]["run"]["result"]
    assert (result["ending"], result["group_clear"], recovered["remains"]) == ("owner_process_ended", True, [])
    assert recovered["git"] is not None
    assert [moved["name"] for moved in recovered["git"]["moved"]] == ["HEAD"]
    assert git(world.worktree, "log", "-1", "--format=%s") == "inside\n"
    assert not (world.store_path / "scratch").exists()
    assert store.recover("greet") == {"task": recovered["task"], "remains": [], "git": None}
