"""Has the host play a conversation in which the model has already been talked over: for attempts that are made by a whole run.

It neither judges nor confines; it prints what the host said and leaves what was kept where the world looks for it.
"""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(os.environ["WORLD"]) / "tmp"
REPOSITORY = ROOT / "repository"
STORE = ROOT / "kept"


def git(*arguments: str) -> None:
    who = ["-c", "user.name=person", "-c", "user.email=person@example.invalid"]
    subprocess.run(["git", "-C", str(REPOSITORY), *who, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def repository(files: dict[str, str]) -> None:
    """A repository of one commit. A content that begins with `-> ` is where a link leads."""
    REPOSITORY.mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    for name, content in {"answer.txt": "41\n", **files}.items():
        path = REPOSITORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            path.symlink_to(content[3:])
        else:
            path.write_text(content)
            path.chmod(0o755)
    git("add", "--all")
    git("commit", "--quiet", "--message", "as it was")


def run(turns: list[tuple[list[str], list[str]]], judge: Path | None = None) -> str:
    """Each turn is its commands and the files it wants to see. Gives back the verdict, which the world reads too."""
    fixed = {"reply": "", "ask": "none", "rationale": "owned", "freeze_tests": False, "expand": []}
    replies = [{"reply": {**fixed, "commands": commands, "view": view, "finished": False}} for commands, view in turns]
    replies.append({"reply": {**fixed, "commands": [], "view": [], "finished": True}})
    script = ROOT / "script.json"
    script.write_text(json.dumps({"schema": "openagents.microcoder.script.v1", "turns": replies}))
    command = [os.environ["MICROCODER"], "run", "go", "--provider", "scripted", "--model", "m", "--script", str(script)]
    command += ["--access", os.environ["ACCESS"], "--repo", str(REPOSITORY), "--store", str(STORE), "--json"]
    command += ["--check", str(judge)] if judge else []
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    print(done.stdout[-200_000:])
    try:
        verdict: str = json.loads(done.stdout)["task"]["checks"]
    except (ValueError, KeyError):
        verdict = "none"
        print(done.stderr[-2000:])
    (ROOT / "verdict").write_text(f"{verdict}\n")
    return verdict
