"""Each rule speaks when it is broken and is silent when it is kept."""

import tempfile
import unittest
from pathlib import Path

import rules

TABLE = "| floor | folder | what |\n| --- | --- | --- |\n| 1 | `low` | a |\n| 2 | `high` | b |\n| 2 | `process` | c |\n"


class Rules(unittest.TestCase):
    def breaches(self, rule, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text)
            return list(rule(rules.Tree(Path(folder), tuple(sorted(files)))))

    def floors(self, manifest: str, folder: str = "low") -> list[str]:
        return self.breaches(rules.floors, {"docs/architecture.md": TABLE, f"rust/{folder}/Cargo.toml": manifest})

    def test_floors(self):
        self.assertEqual(self.floors("[dependencies]\nserde.workspace = true\ncoder-low.workspace = true", "high"), [])
        self.assertEqual(
            self.floors("[dependencies]\ncoder-high.workspace = true"),
            ["rust/low/Cargo.toml: `low` (floor 1) must not use `high` (floor 2)"],
        )
        for kind in ("dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"):
            self.assertEqual(len(self.floors(f"[{kind}]\ncoder-high.workspace = true")), 1, kind)
        # Sideways is not downwards.
        self.assertEqual(len(self.floors("[dependencies]\ncoder-process.workspace = true", "high")), 1)
        self.assertEqual(len(self.floors("", "unlisted")), 1)

    def test_headers(self):
        self.assertEqual(self.breaches(rules.headers, {"rust/low/src/a.rs": "\n#![allow(x)]\n//! For a.\nfn a() {}\n"}), [])
        self.assertEqual(self.breaches(rules.headers, {"rust/low/src/a_tests.rs": "fn a() {}\n"}), [])
        self.assertEqual(len(self.breaches(rules.headers, {"rust/low/src/a.rs": "fn a() {}\n//! late\n"})), 1)
        self.assertEqual(len(self.breaches(rules.headers, {"rust/low/src/a.rs": ""})), 1)

    def test_sizes(self):
        for length, expected in ((500, 0), (501, 1)):
            self.assertEqual(len(self.breaches(rules.sizes, {"rust/low/src/a.rs": "x\n" * length})), expected)
        self.assertEqual(self.breaches(rules.sizes, {"rust/low/src/a_tests.rs": "x\n" * 501}), [])

    def test_unsafe(self):
        kept = '// unsafe\n/* unsafe\nunsafe */ #![deny(unsafe_code)] "unsafe" r#"un"unsafe"# \'"\' b\'"\' "\\"unsafe"\n'
        self.assertEqual(self.breaches(rules.unsafe_code, {"rust/low/src/a.rs": kept}), [])
        self.assertEqual(self.breaches(rules.unsafe_code, {"rust/process/src/a.rs": "unsafe { a() }"}), [])
        broken = self.breaches(rules.unsafe_code, {"rust/low/src/a.rs": "fn a<'a>() {\n    unsafe { a() } // why\n}\n"})
        self.assertEqual(broken, ["rust/low/src/a.rs:2: unsafe code outside boundary and process: move it there"])

    def test_front_doors(self):
        door = "//! fn page\nmod a;\npub mod b;\npub use a::A;\n#[cfg(test)]\nmod tests;\n"
        self.assertEqual(self.breaches(rules.front_doors, {"rust/low/src/lib.rs": door}), [])
        for item in ("fn a() {}", "pub fn a() {}", "pub(crate) struct A;", "impl A {}", "pub const fn a() {}", "type A = u8;"):
            self.assertEqual(len(self.breaches(rules.front_doors, {"rust/low/src/lib.rs": door + item})), 1, item)

    def test_test_places(self):
        inside = "#[cfg(test)]\nmod tests {\n}\n"
        for text, expected in ((inside, 0), ("\n" * 200 + inside, 1), ("\n" * 200 + "mod tests;\n", 0)):
            self.assertEqual(len(self.breaches(rules.test_places, {"rust/low/src/a.rs": text})), expected)

    def test_words(self):
        self.assertEqual(self.breaches(rules.words, {"a.md": "todo lists, hacking\n", "b.json": "TO" "DO"}), [])
        for text in ("// TO" "DO: x", "FIX" "ME", "to" "do!()", "/wo" "rk/main/x"):
            self.assertEqual(len(self.breaches(rules.words, {"a.rs": text})), 1, text)

    def test_named_tests(self):
        traps = [*map(str, range(1, 28)), *"abcdefghijklmnop"]
        page = "".join(f"| {trap} | what | how | `low/src/a_tests.rs::a_test` |\n" for trap in traps)
        files = {"docs/traps.md": page, "rust/low/src/a_tests.rs": "    fn a_test() {}\n"}
        self.assertEqual(self.breaches(rules.named_tests, files), [])
        gone = files | {"rust/low/src/a_tests.rs": "fn a_test_more() {}\n"}
        self.assertEqual(len(self.breaches(rules.named_tests, gone)), 43)
        moved = files | {"docs/traps.md": page.replace("a_tests.rs", "b_tests.rs", 1)}
        self.assertEqual(
            self.breaches(rules.named_tests, moved), ["docs/traps.md: trap 1: there is no file rust/low/src/b_tests.rs"]
        )
        for text in (page.replace("| 3 ", "| 4 "), page.replace("`low/src/a_tests.rs::a_test`", "none", 1)):
            self.assertEqual(len(self.breaches(rules.named_tests, files | {"docs/traps.md": text})), 1)
        cases = "".join(f"| {case} | where | what | how | `low/src/a_tests.rs::a_test` |\n" for case in range(1, 20, 2))
        self.assertEqual(self.breaches(rules.named_tests, files | {"docs/cases.md": cases}), [])
        gone = files | {"docs/cases.md": cases.replace("| 9 ", "| 8 ")}
        self.assertEqual(
            self.breaches(rules.named_tests, gone),
            ["docs/cases.md: the cases are not 1, 3, 5 and so on to 19, each once and in order"],
        )


if __name__ == "__main__":
    unittest.main()
