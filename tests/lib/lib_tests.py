"""The test command's own helpers: the counts are true, and nothing escapes the keeper."""

import subprocess
import sys
import unittest
from pathlib import Path

from tally import tally

KEEPER = Path(__file__).with_name("keeper.py")


class Tally(unittest.TestCase):
    def test_counts(self):
        cargo = "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 1 filtered out; finished in 0.1s\n"
        cases = [
            (0, "", "", (1, 0, 0)),
            (1, "", "", (0, 1, 0)),
            (0, "left", "", (1, 1, 0)),
            (0, "", cargo * 2, (10, 0, 4)),
            (101, "", "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n", (3, 2, 0)),
            (101, "", cargo + "error: could not compile\n", (5, 1, 2)),
            (0, "", "=== 3 passed, 1 skipped, 2 warnings in 0.20s ===\n", (3, 0, 1)),
            (1, "", "2 failed, 3 passed, 1 error in 12.20s\n", (3, 3, 0)),
            (0, "", "7 passed, 0 failed\n4 passed, 0 failed, 2 skipped\n", (11, 0, 2)),
            (0, "", "Ran it: 7 passed, 0 failed today\n", (1, 0, 0)),
        ]
        for status, left, text, expected in cases:
            self.assertEqual(tally(status, left, text), expected, text)


class Keeper(unittest.TestCase):
    def keep(self, script: str, seconds: str = "60") -> subprocess.CompletedProcess:
        command = [sys.executable, KEEPER, "--seconds", seconds, "--", "bash", "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_status_passes_through(self):
        self.assertEqual([self.keep(script).returncode for script in ("exit 0", "exit 77", "kill -9 $$")], [0, 77, 137])

    def test_process_left_behind_is_named_and_killed(self):
        kept = self.keep("setsid -f sleep 987654; echo done")
        self.assertEqual(kept.returncode, 1)
        self.assertIn("was left behind: sleep 987654", kept.stdout)
        still = subprocess.run(["pgrep", "-f", "^sleep 987654$"], capture_output=True, check=False)
        self.assertEqual(still.stdout, b"")

    def test_process_that_ends_by_itself_is_no_leftover(self):
        self.assertEqual(self.keep("setsid -f sleep 0.3").returncode, 0)

    def test_time_limit(self):
        kept = self.keep("sleep 987653", seconds="0.3")
        self.assertEqual(kept.returncode, 124)
        self.assertIn("sleep 987653", kept.stdout)


if __name__ == "__main__":
    unittest.main()
