"""The world of a test: a repository with a linked worktree, a store beside it, recorded conversations, exact grants."""

import contextlib
import hashlib
import json
import os
import select
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coder_core import Receipt, Store

MODEL = "scripted-test"
PROMPT = "Say hello in `greeting.txt`."


def git(directory: Path, *arguments: str) -> str:
    """Run Git without the configuration of the machine."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@localhost",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@localhost",
    }
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout  # noqa: S603


def turn(*commands: str, reply: str = "", expect: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """One answer of the recorded model; without commands it is the last one."""
    return {
        "expect": list(expect),
        "reply": {
            "reply": reply,
            "ask": "none",
            "rationale": "As recorded.",
            "commands": list(commands),
            "view": [],
            "freeze_tests": False,
            "expand": [],
            "finished": not commands,
        },
    }


@dataclass(frozen=True)
class World:
    """Everything one test needs, below one directory."""

    home: Path

    @property
    def repository(self) -> Path:
        return self.home / "repository"

    @property
    def worktree(self) -> Path:
        return self.home / "worktree"

    @property
    def store_path(self) -> Path:
        return self.home / "store"

    def store(self) -> Store:
        return Store(self.store_path, create=True)

    def lay(self) -> None:
        """Make the repository and its linked worktree."""
        self.repository.mkdir()
        git(self.repository, "init", "--quiet", "--initial-branch=main", "--template=")
        (self.repository / "README.md").write_text("A repository.\n", encoding="utf-8")
        git(self.repository, "add", "--all")
        git(self.repository, "commit", "--quiet", "--message=Begin")
        git(self.repository, "worktree", "add", "--quiet", "--detach", str(self.worktree))

    def command(self, task: str) -> dict[str, Any]:
        """The command that submits a task on the worktree."""
        return {
            "schema": "openagents.coder.task-command.v1",
            "command_id": f"submit-{task}",
            "task_id": task,
            "expected_revision": None,
            "action": {
                "type": "submit",
                "intent": {
                    "title": "Greet",
                    "prompt": PROMPT,
                    "workspace": {"path": str(self.worktree), "source_revision": None},
                    "configuration": {"adapter": "microcoder-repository", "model": MODEL},
                },
            },
        }

    def submit(self, task: str) -> Receipt:
        return self.store().submit(self.command(task))

    def submit_bounded(self, task: str) -> Receipt:
        """Submit a task for one bounded command."""
        command = self.command(task)
        command["action"]["intent"]["configuration"] = {"adapter": "bounded-command", "model": None}
        return self.store().submit(command)

    def bounded_grant(self, task: str, script: str) -> bytes:
        """The exact bytes of a grant that runs one shell script on a submitted task."""
        return self.grant(
            task, turn(), program="/bin/sh", arguments=["-c", script], wall_seconds=600, adapter_configuration=None
        )

    def grant(self, task: str, *turns: dict[str, Any], **changed: Any) -> bytes:  # noqa: ANN401 - any field of a grant
        """The exact bytes of a grant that runs a recorded conversation on a submitted task."""
        script = self.home / f"{task}.conversation.json"
        script.write_text(
            json.dumps({"schema": "openagents.microcoder.script.v1", "turns": list(turns)}), encoding="utf-8"
        )
        submitted = self.store().show(task)
        grant = {
            "schema": "openagents.coder.task-execution-grant.v1",
            "task_id": task,
            "intent_digest": submitted["intent_digest"],
            "expected_revision": submitted["revision"],
            "program": "/bin/sh",
            "arguments": [],
            "write_workspace": True,
            "stream_bytes": 65536,
            "memory_bytes": 512 * 1024 * 1024,
            "adapter_configuration": {
                "schema": "openagents.microcoder.repository-config.v1",
                "provider": "scripted",
                "model": MODEL,
                "generation_endpoint": "in-process",
                "decision_endpoint": "in-process",
                "decision_model": "none",
                "acceptance": False,
                "route": "never",
                "knowledge": "off",
                "script": str(script),
                "script_digest": f"sha256:{hashlib.sha256(script.read_bytes()).hexdigest()}",
            },
            **changed,
        }
        return json.dumps(grant).encode()


def ended(process: int, seconds: float = 120) -> None:
    """Wait until a process has ended. It may be a child of this one, and is then reaped."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], seconds)[0], f"process {process} goes on"
    finally:
        os.close(handle)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, 0)


def processes_with(mark: str) -> list[int]:
    """The processes of the machine whose command line holds `mark`."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes()
        except OSError:
            continue
        if mark.encode() in line:
            found.append(int(place.parent.name))
    return found
