"""Makes a store with one finished run of as many steps as asked, through the programs themselves.

The model is scripted; everything else is the real thing. The first steps print what a hostile repository might: markup,
escapes, marks that turn the writing, bytes that are no text, a line of mebibytes, and the one after them is left out.
"""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

TASK = "html-1"
PROMPT = "Make the page <b>lie</b>.\n</script><script>pwned=1</script>\n\u202eback to front"
HOSTILE = [
    "printf '</pre></script><script>pwned=1</script><img src=x onerror=pwned=1>\\n'",
    "printf '\\033[31mred\\033[0m \\033[2J\\033]0;owned\\007 \\342\\200\\256 \\377\\376\\n' >&2",
    "head -c 2000000 /dev/zero | tr '\\0' x",
    "seq 1 3000",
    "printf '<b>one</b>\\n' >added.html; rm notes.txt; false",
    "echo never",
]


def reply(commands: list[str], view: list[str], finished: bool) -> dict[str, Any]:
    return {
        "reply": "Done: <i>all</i> of it." if finished else "",
        "ask": "none",
        "rationale": "</div><script>pwned=1</script>",
        "commands": commands,
        "view": view,
        "freeze_tests": False,
        "expand": [],
        "finished": finished,
    }


def make_run(programs: Path, root: Path, turns: int) -> Path:
    """Runs a task of `turns` turns below `root` and returns its store."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root / "home"), "TMPDIR": str(root / "tmp")}
    environment |= {f"GIT_{who}_{what}": "tester@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for name in ("home", "tmp", "repository"):
        (root / name).mkdir()

    def call(*arguments: object) -> str:
        command = [str(argument) for argument in arguments]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout

    repository, tree, store = root / "repository", root / "tree", root / "store"
    (repository / "notes.txt").write_text("first\nsecond\n")
    (repository / "kept.txt").write_text("kept\n")
    call("git", "-C", repository, "init", "--quiet", "--initial-branch=main", "--template=")
    call("git", "-C", repository, "add", "--all")
    call("git", "-C", repository, "commit", "--quiet", "--message=first")
    call("git", "-C", repository, "worktree", "add", "--quiet", "--detach", tree)

    replies = [reply(HOSTILE, [], False)]
    replies += [reply([f"echo turn {turn} >>kept.txt; tail -n 1 kept.txt"], ["kept.txt"], False) for turn in range(2, turns)]
    replies.append(reply([], [], True))
    script = root / "script.json"
    schema = "openagents.microcoder.script.v1"
    script.write_text(json.dumps({"schema": schema, "turns": [{"reply": each} for each in replies]}))
    intent = {
        "title": "A <i>hostile</i> \u202etitle",
        "prompt": PROMPT,
        "workspace": {"path": str(tree), "source_revision": None},
        "configuration": {"adapter": "microcoder-repository", "model": "recorded"},
    }
    submit = root / "submit.json"
    submit.write_text(
        json.dumps({
            "schema": "openagents.coder.task-command.v1",
            "command_id": "submit-1",
            "task_id": TASK,
            "expected_revision": None,
            "action": {"type": "submit", "intent": intent},
        })
    )
    coder = programs / "coder"
    receipt = json.loads(call(coder, "task", "submit", "--file", submit, "--store", store))
    task = json.loads(call(coder, "task", "show", TASK, "--store", store))
    grant = root / "grant.json"
    configuration = {
        "schema": "openagents.microcoder.repository-config.v1",
        "provider": "scripted",
        "model": "recorded",
        "effort": None,
        "generation_endpoint": "in-process",
        "decision_endpoint": "in-process",
        "decision_model": "none",
        "acceptance": False,
        "route": "never",
        "knowledge": "off",
        "dollar_limit_micros": None,
        "expected_controller_digest": None,
        "script": str(script),
        "script_digest": "sha256:" + hashlib.sha256(script.read_bytes()).hexdigest(),
    }
    grant.write_text(
        json.dumps({
            "schema": "openagents.coder.task-execution-grant.v1",
            "task_id": TASK,
            "intent_digest": task["intent_digest"],
            "expected_revision": receipt["revision"],
            "expected_source_snapshot": None,
            "program": "/bin/bash",
            "arguments": [],
            "write_workspace": True,
            "stream_bytes": 65536,
            "memory_bytes": 512 << 20,
            "requirements": None,
            "adapter_configuration": configuration,
        })
    )
    call(programs / "microcoder", "repository", "--grant", grant, "--store", store)
    return store
