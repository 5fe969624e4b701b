# The test runners of the languages that are here.
set -e
printf 'import unittest, subprocess\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\\n")\n' >test_it.py
python3 -m unittest discover -q 2>/dev/null && python3 -m compileall -q . && [ -d __pycache__ ]
printf 'const t = require("node:test"), a = require("assert"); t("it", () => a.equal(1, 1));\n' >it.test.js
if command -v node >/dev/null; then node --test >/dev/null; fi
perl -MTest::More -e 'is(`echo x`, "x\n"); done_testing' >/dev/null
echo works
