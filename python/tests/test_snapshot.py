"""`snapshot`: a tree as values, with every name, and what kept it from being whole."""

import hashlib
import os
import pickle
from pathlib import Path

import pytest

from coder_core import Entry, snapshot


def test_a_tree_as_values(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "file").write_bytes(b"content")
    (root / "a" / "file").chmod(0o640)
    (root / "link").symlink_to(os.fsdecode(b"to \xff"))
    os.mkfifo(root / os.fsdecode(b"\xff"))
    for path, mode in ((root, 0o755), (root / "a", 0o700), (root / os.fsdecode(b"\xff"), 0o600)):
        path.chmod(mode)
    observed = snapshot(root)
    assert observed.entries == (
        Entry("", "directory", 0o755, None, None, None),
        Entry("a", "directory", 0o700, None, None, None),
        Entry("a/file", "file", 0o640, 7, hashlib.sha256(b"content").hexdigest(), None),
        Entry("link", "symlink", 0o777, None, None, os.fsdecode(b"to \xff")),
        Entry(os.fsdecode(b"\xff"), "fifo", 0o600, None, None, None),
    )
    assert (observed.root, observed.complete, observed.faults) == (str(root.resolve()), True, ())
    assert (observed.omitted_faults, observed.content_bytes) == (0, 7)
    assert pickle.loads(pickle.dumps(observed)) == observed  # noqa: S301 - our own bytes


def test_the_digest_is_that_of_the_format(tmp_path: Path) -> None:
    """Computed here again, from the definition: entries in order, framed as the specification says."""
    tmp_path.chmod(0o700)
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "f").chmod(0o644)
    expected = hashlib.sha256()
    expected.update(b"\0directory" + (0o700).to_bytes(4, "little") + b"\xff")
    expected.update(b"f\0file" + (1).to_bytes(8, "little") + hashlib.sha256(b"x").digest())
    expected.update((0o644).to_bytes(4, "little") + b"\xff")
    assert snapshot(tmp_path).digest == expected.hexdigest()


def test_any_form_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / os.fsdecode(b"r\xff")
    root.mkdir()
    monkeypatch.chdir(tmp_path)
    forms: list[str | bytes | Path] = [root, os.fspath(root), os.fsencode(root), os.fsdecode(b"r\xff"), b"r\xff"]
    assert {snapshot(form).root for form in forms} == {os.fspath(root.resolve())}


def test_what_cannot_be_observed_is_a_fault(tmp_path: Path) -> None:
    missing = snapshot(tmp_path / "missing")
    assert (missing.complete, missing.entries) == (False, ())
    assert [fault.split(":")[0] for fault in missing.faults] == ["the workspace cannot be opened"]
