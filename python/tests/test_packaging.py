"""What a user gets from the wheel, whatever the API above it: a version, a type marker, one stable-ABI extension."""

import re
from importlib import metadata, resources
from pathlib import Path


def test_version_is_the_workspace_version() -> None:
    manifest = (Path(__file__).parents[2] / "Cargo.toml").read_text(encoding="utf-8")
    match = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', manifest, re.MULTILINE)
    assert match is not None
    assert metadata.version("coder-core") == match.group(1)


def test_types_are_declared() -> None:
    assert resources.files("coder_core").joinpath("py.typed").is_file()


def test_extension_uses_the_stable_abi() -> None:
    files = metadata.files("coder-core")
    assert files is not None
    assert [file.name for file in files if file.name.endswith(".so")] == ["_core.abi3.so"]


def test_nothing_but_the_package_is_installed() -> None:
    files = metadata.files("coder-core")
    assert files is not None
    assert {file.parts[0] for file in files if "dist-info" not in file.parts[0]} == {"coder_core"}


def test_one_wheel_serves_every_python_from_3_10() -> None:
    wheel = metadata.distribution("coder-core").read_text("WHEEL")
    assert wheel is not None
    tags = [line.removeprefix("Tag: ") for line in wheel.splitlines() if line.startswith("Tag: ")]
    assert [tag.split("-")[:2] for tag in tags] == [["cp310", "abi3"]] * len(tags) != []
