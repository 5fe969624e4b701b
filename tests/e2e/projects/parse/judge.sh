#!/usr/bin/env bash
# judge.sh JUDGE: run with the candidate, which is read only, as the working directory. Its own suite, then the suite of the version
# which fixed the bug, taken from JUDGE and run against the candidate's module.
set -euo pipefail
judge=$1
candidate=$PWD
python3 -B -m unittest test_parse
cd "$judge"
PYTHONPATH=$candidate python3 -B -c '
import os, sys, parse
if os.path.dirname(os.path.realpath(parse.__file__)) != os.path.realpath(sys.argv[1]):
    sys.exit("the module under test is %s and not the candidate" % parse.__file__)' "$candidate"
PYTHONPATH=$candidate python3 -B -m unittest test_parse
