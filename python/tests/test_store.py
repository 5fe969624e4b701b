"""`Store`: commands in, documents out, and refusals with their codes."""

import base64
import json
import os
from pathlib import Path

import pytest

from coder_core import CoderError, Store, StoreError, Task, TraceError, WorkspaceError
from coder_core.documents import EncodedPath
from world import World, git


def code(raised: pytest.ExceptionInfo[CoderError]) -> str:
    return raised.value.code


def test_looking_for_a_store_makes_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as raised:
        Store(tmp_path / "store")
    assert (code(raised), list(tmp_path.iterdir())) == ("no_store", [])


def test_a_store_is_opened_by_any_form_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = os.fsdecode(b"st\xffre")
    path = Store(tmp_path / name, create=True).path
    monkeypatch.chdir(tmp_path)
    assert path == os.fsdecode(tmp_path.resolve()) + "/" + name
    assert {Store(form).path for form in (path, os.fsencode(path), Path(path), name)} == {path}


@pytest.mark.parametrize("name", ["a\0b", b"a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name: str | bytes) -> None:
    with pytest.raises(ValueError, match="null byte"):
        Store(name)


@pytest.mark.parametrize("name", [None, 3, ["a"]])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(TypeError):
        Store(name)  # type: ignore[arg-type]


def test_the_same_bytes_again_get_the_same_receipt(world: World, store: Store) -> None:
    command = world.command("greet")
    exact = json.dumps(command).encode()
    receipt = store.submit(exact)
    assert receipt == store.submit(exact)
    assert (receipt["task_id"], receipt["revision"], receipt["status"]) == ("greet", 1, "queued")
    with pytest.raises(StoreError) as raised:
        store.submit(json.dumps(command, indent=1).encode())
    assert code(raised) == "command_conflict"


def test_equal_dicts_are_equal_commands(world: World, store: Store) -> None:
    command = world.command("greet")
    turned = dict(reversed(command.items()))
    assert list(turned) != list(command)
    assert store.submit(command) == store.submit(turned)


def test_a_malformed_command_is_refused_and_reserves_nothing(world: World, store: Store) -> None:
    with pytest.raises(StoreError) as raised:
        store.submit(b'{"schema":')
    assert code(raised) == "invalid_command"
    with pytest.raises(TypeError):
        store.submit("{}")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.submit({"schema": float("nan")})
    assert store.list() == []


def test_tasks_are_listed_in_their_order(world: World, store: Store) -> None:
    for task in ("b", "a", "c"):
        world.submit(task)
    assert [task["task_id"] for task in store.list()] == ["b", "a", "c"]
    assert [task["title"] for task in store.list()] == ["Greet"] * 3


def test_cancelling_a_queued_task(world: World, store: Store) -> None:
    world.submit("greet")
    receipt = store.cancel("greet", "no longer needed", command_id="cancel-1")
    assert receipt == store.cancel("greet", "no longer needed", command_id="cancel-1")
    task = store.show("greet")
    assert (task["status"], task["cancellation_reason"]) == ("cancelled", "no longer needed")
    with pytest.raises(StoreError) as raised:
        store.cancel("greet", "again")
    assert code(raised) == "invalid_transition"


@pytest.mark.parametrize("method", ["show", "view", "verify", "patch", "export_atif"])
def test_a_task_that_is_not_there(store: Store, method: str) -> None:
    with pytest.raises(StoreError) as raised:
        getattr(store, method)("nobody")
    assert code(raised) == "not_found"
    assert raised.value.message in str(raised.value)


@pytest.mark.parametrize("name", ["", "../x", "a b", "é", "a" * 129])
def test_a_malformed_task_name_is_a_bad_value(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="identifier"):
        store.show(name)


def test_what_an_unfinished_task_does_not_have(world: World, store: Store) -> None:
    world.submit("greet")
    codes = []
    for look in (store.patch, store.export_atif, lambda task: store.artifact(task, "x")):
        with pytest.raises(StoreError) as raised:
            look("greet")
        codes.append(code(raised))
    assert codes == ["absent"] * 3
    view = store.view("greet")
    assert (view["evidence"]["state"], view["artifacts"]) == ("not_started", None)
    assert store.verify("greet")["verdict"] == "unfinished"


def test_a_view_is_paged_to_its_end(store: Store, finished: Task) -> None:
    whole = store.view("greet", limit=200)["evidence"]
    assert (whole["state"], whole["more_available"], whole["next"]) == ("sealed", False, None)
    steps, cursor = [], None
    while True:
        page = store.view("greet", limit=2, cursor=cursor)["evidence"]
        steps += page["steps"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert steps == whole["steps"]
    assert len(steps) == whole["total_steps"]


def test_a_cursor_may_be_text_and_must_fit(world: World, store: Store, finished: Task) -> None:
    cursor = store.view("greet", limit=1)["evidence"]["next"]
    assert cursor is not None
    written = json.dumps(cursor, sort_keys=True, separators=(",", ":"))
    assert store.view("greet", cursor=written) == store.view("greet", cursor=cursor)
    for wrong in ({**cursor, "task_id": "other"}, "{", ""):
        with pytest.raises(TraceError) as raised:
            store.view("greet", cursor=wrong)  # type: ignore[arg-type]
        assert code(raised) == "command_conflict"


@pytest.mark.parametrize("limit", [0, 201])
def test_a_page_has_its_bounds(store: Store, finished: Task, limit: int) -> None:
    with pytest.raises(TraceError) as raised:
        store.view("greet", limit=limit)
    assert code(raised) == "bad_page_size"


def test_kept_files_by_every_form_of_their_name(store: Store, finished: Task) -> None:
    assert store.artifact("greet", "greeting.txt") == b"hello\n"
    manifest = store.view("greet")["artifacts"]
    assert manifest is not None
    written = [entry["path"] for entry in manifest["entries"] if isinstance(entry["path"], dict)]
    assert written == [{"base64": base64.b64encode(b"na\xffme").decode()}]
    name = b"na\xffme"
    forms: list[str | bytes | Path | EncodedPath] = [name, os.fsdecode(name), Path(os.fsdecode(name)), written[0]]
    assert [store.artifact("greet", form) for form in forms] == [b"x"] * 4
    with pytest.raises(WorkspaceError) as raised:
        store.artifact("greet", "README.md")
    assert code(raised) == "not_retained"
    with pytest.raises(ValueError, match="not a path"):
        store.artifact("greet", {"base64": "%"})


def test_the_patch_makes_the_candidate(world: World, store: Store, finished: Task) -> None:
    patch = world.home / "candidate.patch"
    patch.write_bytes(store.patch("greet"))
    git(world.repository, "apply", str(patch))
    assert (world.repository / "greeting.txt").read_text(encoding="utf-8") == "hello\n"
    assert Path(os.fsdecode(os.fsencode(world.repository) + b"/na\xffme")).read_bytes() == b"x"


def test_the_trace_as_a_document(store: Store, finished: Task) -> None:
    document = store.export_atif("greet")
    assert document["steps"] == store.view("greet", limit=200)["evidence"]["steps"]


def test_damage_is_an_answer_of_verify(store: Store, finished: Task) -> None:
    assert store.verify("greet")["verdict"] == "verified"
    run = finished["run"]
    trace = Path(store.path) / run["admission"]["trace_file"]
    trace.write_bytes(trace.read_bytes().replace(b"hello", b"hallo", 1))
    verification = store.verify("greet")
    assert verification["verdict"] == "mismatch"
    assert verification["first_mismatch"].startswith("trace of turn 1 does not hold")
