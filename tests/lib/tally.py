"""Counts the tests of one part from its log.

Usage: tally.py STATUS LEFT LOG      prints: PASSED FAILED SKIPPED

Reads the closing lines of cargo test and pytest, and the plain line `N passed, N failed[, N skipped]`. A part without any such
line is one test: its exit status. A part that failed, or left something behind (LEFT is not empty), counts at least one failure.
"""

import re
import sys
from pathlib import Path

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
PYTEST = re.compile(r"^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in [\d.]+s")


def tally(status: int, left: str, text: str) -> tuple[int, int, int]:
    """The tests that passed, failed and were skipped."""
    passed = failed = skipped = 0
    seen = False
    for line in text.splitlines():
        if match := CARGO.match(line) or PLAIN.match(line):
            counts = [int(group or 0) for group in match.groups()]
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
        elif match := PYTEST.match(line):
            for number, word in (item.split() for item in match.group(1).split(", ")):
                if word in {"passed", "xfailed"}:
                    passed += int(number)
                elif word in {"failed", "error", "errors", "xpassed"}:
                    failed += int(number)
                elif word in {"skipped", "deselected"}:
                    skipped += int(number)
        else:
            continue
        seen = True
    if status == 0 and not seen:
        passed = 1
    if failed == 0 and (status != 0 or left):
        failed = 1
    return passed, failed, skipped


if __name__ == "__main__":
    print(*tally(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_text(errors="replace")))
