"""The house rules that neither the compiler nor the linter can check, one function per rule.

Each rule takes the list of files under test and gives back one line per breach: where, what, and what to do. It reads files; it
neither changes nor runs anything.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_SOURCE = 500
# A short file may hold its few tests; in a longer one they hide the code.
LONGEST_WITH_TESTS = 200
# The two crates that speak to the kernel themselves.
UNSAFE_CRATES = {"process", "boundary"}
# Spelled in halves so that this file does not break the rule it holds.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|\bto" r"do!|\bunimple" r"mented!")
MACHINE_PATHS = re.compile(r"/wo" r"rk/(?:main|shared)\b")
ITEMS_AT_THE_DOOR = re.compile(
    r"^(?:pub(?:\([a-z]+\))? )?(?:async |unsafe |const )*(?:fn|struct|enum|union|trait|impl|static|type|macro_rules!)\b"
)
FLOOR_ROW = re.compile(r"^\| (\d+) \| `([a-z_]+)` \|", re.MULTILINE)
NUMBERED_ROW = re.compile(r"^\| ([0-9]+|[a-z]) \|.*\|(.*)\|$", re.MULTILINE)
# The pages whose rows name a test each: what a row is called, which there must be, and that in words.
NUMBERED = {
    "docs/traps.md": ("trap", [*map(str, range(1, 28)), *"abcdefghijklmnop"], "1 to 27 and a to p"),
    "docs/cases.md": ("case", [*map(str, range(1, 20, 2))], "1, 3, 5 and so on to 19"),
}
# A file, or a function of one.
NAMED_TEST = re.compile(r"`([a-z_]+(?:/[a-zA-Z0-9_.]+)+)(?:::([a-z0-9_]+))?`")
LEXEMES = re.compile(
    r"""
    //[^\n]*
    | /\*.*?\*/
    | \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)
    | [bc]?"(?:\\.|[^"\\])*"
    | b?'(?:\\.[^']*|[^'\\])'
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Tree:
    """The files under test: every tracked file of the project, by its path from the root."""

    root: Path
    files: tuple[str, ...]

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def rust(self) -> Iterator[str]:
        """The Rust sources that are not tests."""
        for path in self.files:
            if path.startswith("rust/") and path.endswith(".rs") and "/src/" in path and not is_test(path):
                yield path


def is_test(path: str) -> bool:
    name = Path(path).stem
    return name == "tests" or name.endswith("_tests")


def without_words(source: str) -> str:
    """Rust source with comments, strings and characters blanked; lines keep their numbers."""
    return LEXEMES.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


def lines_with(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if match := pattern.search(line):
            yield number, match.group()


def floors(tree: Tree) -> Iterator[str]:
    """A crate uses crates of lower floors only, and stands in the table of docs/architecture.md."""
    floor = {folder: int(number) for number, folder in FLOOR_ROW.findall(tree.text("docs/architecture.md"))}
    for path in tree.files:
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "rust" or parts[2] != "Cargo.toml":
            continue
        folder = parts[1]
        if folder not in floor:
            yield f"{path}: `{folder}` has no row in the floor table of docs/architecture.md: add it"
            continue
        for used in crates_used(tomllib.loads(tree.text(path))):
            if used in floor and floor[used] >= floor[folder]:
                yield f"{path}: `{folder}` (floor {floor[folder]}) must not use `{used}` (floor {floor[used]})"


def crates_used(manifest: dict) -> Iterator[str]:
    """The folders of the workspace's own crates that a manifest names, in whatever table."""
    tables = [manifest, *manifest.get("target", {}).values()]
    for table in tables:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name in table.get(kind, {}):
                if name.startswith("coder-"):
                    yield name.removeprefix("coder-")


def headers(tree: Tree) -> Iterator[str]:
    """A Rust file says at its top what it is for."""
    for path in tree.files:
        if path.endswith(".rs") and not is_test(path):
            top = [line for line in tree.text(path).splitlines() if line.strip() and not line.startswith("#!")]
            if not top or not top[0].startswith("//!"):
                yield f"{path}:1: no `//!` header: say in two to six lines what the file is for and what it does not do"


def sizes(tree: Tree) -> Iterator[str]:
    """A Rust file without its tests stays readable in one sitting."""
    for path in tree.rust():
        length = len(tree.text(path).splitlines())
        if length > LONGEST_SOURCE:
            yield f"{path}: {length} lines, more than {LONGEST_SOURCE}: split it by idea"


def unsafe_code(tree: Tree) -> Iterator[str]:
    """Only the two crates that speak to the kernel hold unsafe code."""
    for path in tree.files:
        if path.endswith(".rs") and path.split("/")[1] not in UNSAFE_CRATES:
            for number, _ in lines_with(re.compile(r"\bunsafe\b"), without_words(tree.text(path))):
                yield f"{path}:{number}: unsafe code outside {' and '.join(sorted(UNSAFE_CRATES))}: move it there"


def front_doors(tree: Tree) -> Iterator[str]:
    """A `lib.rs` holds documentation and names, not code. The extension's module function is its list of names."""
    for path in tree.rust():
        if path.endswith("/src/lib.rs") and not path.startswith("rust/python/"):
            for number, found in lines_with(ITEMS_AT_THE_DOOR, without_words(tree.text(path))):
                yield f"{path}:{number}: `{found}` in a front door: move it to a module of its own"


def test_places(tree: Tree) -> Iterator[str]:
    """Tests of `x.rs` stand in `x_tests.rs`, so that the code stays short."""
    for path in tree.rust():
        if len(tree.text(path).splitlines()) <= LONGEST_WITH_TESTS:
            continue
        for number, _ in lines_with(re.compile(r"^\s*mod tests\s*\{"), without_words(tree.text(path))):
            yield f"{path}:{number}: tests inside the source: move them to {Path(path).stem}_tests.rs"


def words(tree: Tree) -> Iterator[str]:
    """Nothing is left for later, and no file knows the machine it was written on."""
    for path in tree.files:
        if Path(path).suffix not in {".rs", ".py", ".pyi", ".sh", ".nix", ".toml", ".md", ""} or path.startswith("LICENSE"):
            continue
        text = tree.text(path)
        for number, found in lines_with(UNFINISHED, text):
            yield f"{path}:{number}: `{found}`: finish it, or write down the limit where the user reads it"
        for number, found in lines_with(MACHINE_PATHS, text):
            yield f"{path}:{number}: `{found}` is a path of one machine: name it relative to the project"


def named_tests(tree: Tree) -> Iterator[str]:
    """Every test that docs/traps.md and docs/cases.md name is there, and no trap or case is left out."""
    for page, (word, expected, listed) in NUMBERED.items():
        if page not in tree.files:
            continue
        rows = NUMBERED_ROW.findall(tree.text(page))
        if [number for number, _ in rows] != expected:
            yield f"{page}: the {word}s are not {listed}, each once and in order"
        for number, row in rows:
            named = NAMED_TEST.findall(row)
            if not named:
                yield f"{page}: {word} {number} names no test"
            for path, function in named:
                file = path if path.startswith(("python/", "tests/")) else f"rust/{path}"
                if file not in tree.files:
                    yield f"{page}: {word} {number}: there is no file {file}"
                elif function and not re.search(rf"^\s*(?:async )?(?:fn|def) {function}\(", tree.text(file), re.MULTILINE):
                    yield f"{page}: {word} {number}: {file} has no test `{function}`"


RULES: tuple[Callable[[Tree], Iterator[str]], ...] = (
    floors,
    headers,
    sizes,
    unsafe_code,
    front_doors,
    test_places,
    words,
    named_tests,
)
