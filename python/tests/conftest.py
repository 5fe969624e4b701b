"""Fixtures that several tests share."""

from pathlib import Path

import pytest

from coder_core import Store, Task, run_repository
from world import World, turn


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fresh repository with a linked worktree, and no store yet."""
    world = World(tmp_path)
    world.lay()
    return world


@pytest.fixture
def store(world: World) -> Store:
    """An empty store beside the worktree."""
    return world.store()


@pytest.fixture
def finished(world: World, store: Store) -> Task:
    """The task `greet` after a run that wrote two files, one of them with a name that is not UTF-8."""
    world.submit("greet")
    commands = ["printf 'hello\\n' >greeting.txt", "printf x >\"$(printf 'na\\377me')\""]
    grant = world.grant("greet", turn(*commands), turn(reply="Done."))
    return run_repository(grant, store=store)
