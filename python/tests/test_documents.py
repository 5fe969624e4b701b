"""Every document that the extension returns has exactly the keys and types that are declared for it."""

import pytest

import coder_core.documents as declared
from coder_core import Boundary, Store, Task
from conformance import breaches
from world import World


def test_a_finished_task_and_what_is_seen_of_it(store: Store, finished: Task) -> None:
    found = [
        *breaches(finished, declared.Task),
        *breaches(store.show("greet"), declared.Task),
        *breaches(store.list(), list[declared.Summary]),
        *breaches(store.view("greet"), declared.View),
        *breaches(store.view("greet", limit=1), declared.View),
        *breaches(store.verify("greet"), declared.Verification),
    ]
    assert found == []


def test_a_task_that_never_ran(world: World, store: Store) -> None:
    receipt = world.submit("greet")
    found = [
        *breaches(receipt, declared.Receipt),
        *breaches(store.show("greet"), declared.Task),
        *breaches(store.view("greet"), declared.View),
        *breaches(store.verify("greet"), declared.Verification),
    ]
    assert found == []


@pytest.mark.parametrize("memory", [None, 256 * 1024 * 1024])
def test_what_holds_a_command(world: World, memory: int | None) -> None:
    with Boundary(world.worktree, memory=memory) as boundary:
        ended = boundary.run(["true"])
        killed = boundary.run(["sh", "-c", "kill -9 $$"])
    found = [
        *breaches(boundary.enforced, declared.Enforced),
        *breaches(ended.enforced, declared.Enforced),
        *breaches(ended.report, declared.CommandReport),
        *breaches(killed.report, declared.CommandReport),
    ]
    assert found == []


def test_the_comparison_sees_every_kind_of_breach() -> None:
    receipt = {"schema": 1, "task_id": "t", "sequence": True, "status": "lost", "more": None}
    assert set(breaches(receipt, declared.Receipt)) == {
        "$: no `checks`",
        "$: no `command_id`",
        "$: no `execution`",
        "$: no `request_digest`",
        "$: no `revision`",
        "$: `more` is not declared",
        "$.schema: 1 is no str",
        "$.sequence: True is no int",
        f"$.status: 'lost' is none of {declared.Status}",
    }
