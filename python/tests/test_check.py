"""Independent checks from Python: the verdict of an approved suite, and every way to have none."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import coder_core.documents as declared
from coder_core import Store, StoreError, run_repository
from conformance import breaches
from world import World, turn

SUITE = """#!/bin/sh
{before}
verdict=failed
grep -qx hello greeting.txt && verdict=passed
printf '{{"schema":"openagents.verification.v1","suite_digest":"sha256:%s","input_digest":"%s","verdict":"%s"}}\\n' \\
    "$(sha256sum "$0" | cut -c 1-64)" "$1" "$verdict"
"""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Judge:
    """A suite with its manifest, outside everything a run can touch, and the operator's word for it."""

    def __init__(self, home: Path, before: str) -> None:
        home.mkdir(mode=0o700)
        self.program = home / "suite.sh"
        self.program.write_text(SUITE.format(before=before), encoding="utf-8")
        self.program.chmod(0o755)
        self.manifest = home / "suite.json"
        detect = {"binary": str(self.program), "version": [str(self.program), "--version"]}
        text = json.dumps({"v": 1, "slug": "judge", "transport": "subprocess", "detect": detect})
        self.manifest.write_text(text, encoding="utf-8")

    def approve(self, trust: Path) -> None:
        """Write what `coder capability approve` records."""
        record = {
            "slug": "judge",
            "manifest": digest(self.manifest),
            "adapter": str(self.program),
            "adapter_digest": digest(self.program),
        }
        trust.write_text(json.dumps({"v": 1, "records": [record]}), encoding="utf-8")
        trust.chmod(0o600)

    def requirements(self) -> dict[str, Any]:
        """What a grant pins of it."""
        suite = f"sha256:{digest(self.program)}"
        check = {
            "id": "hello",
            "manifest": str(self.manifest),
            "manifest_digest": digest(self.manifest),
            "arguments": ["{candidate_digest}"],
            "seconds": 60,
            "output_bytes": 4096,
            "acceptance": {"kind": "suite", "suite_digest": suite, "input_digest": "{candidate_digest}"},
        }
        return {
            "schema": "openagents.coder.task-requirements.v2",
            "version": 1,
            "requirements": [{"id": "greets", "statement": "It greets.", "checks": ["hello"]}],
            "plan": {
                "schema": "openagents.verification.v1",
                "input_digest": "{candidate_digest}",
                "seconds": 120,
                "allow_unrestricted_reads": True,
                "allow_network": True,
                "checks": [check],
            },
            "instruction_targets": [],
            "source_exclusions": [],
            "task_sources": ["a request"],
            "check_lineage": [{"check": "hello", "sources": ["the manual"]}],
            "knowledge": [],
        }


def run(world: World, store: Store, monkeypatch: pytest.MonkeyPatch, before: str = "") -> Judge:
    """A finished run that pinned the suite."""
    monkeypatch.setenv("CODER_CAPABILITY_TRUST", str(world.home / "trust.json"))
    judge = Judge(world.home / "judges", before)
    world.submit("greet")
    grant = world.grant(
        "greet", turn("echo hello >greeting.txt"), turn(reply="Done."), requirements=judge.requirements()
    )
    run_repository(grant, store=store)
    return judge


def test_an_approved_suite_judges_once(world: World, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = run(world, store, monkeypatch)
    judge.approve(world.home / "trust.json")
    task = store.check("greet", deadline=120)
    assert list(breaches(task, declared.Task)) == []
    assert (task["checks"], task["run"]["report"]["verdict"]) == ("passed", "passed")
    assert store.verify("greet")["verdict"] == "verified"
    with pytest.raises(StoreError) as raised:
        store.check("greet")
    assert raised.value.code == "invalid_transition"


def test_a_suite_that_nobody_approved_judges_nothing(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(world, store, monkeypatch)
    task = store.check("greet")
    assert task["checks"] == "unavailable"
    assert "is not approved" in (task["run"]["report"]["reason"] or "")


def test_a_deadline_leaves_the_checks_unavailable(world: World, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = run(world, store, monkeypatch, before="exec sleep 86400")
    judge.approve(world.home / "trust.json")
    assert store.check("greet", deadline=1.5)["checks"] == "unavailable"


def test_a_task_without_requirements_has_nothing_to_check(world: World, store: Store) -> None:
    world.submit("greet")
    run_repository(world.grant("greet", turn(reply="Done.")), store=store)
    with pytest.raises(StoreError) as raised:
        store.check("greet")
    assert raised.value.code == "invalid_transition"
    assert store.show("greet")["checks"] == "not_run"
