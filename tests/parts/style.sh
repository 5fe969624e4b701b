# the house rules a compiler cannot check: floors, headers, file sizes, unsafe, words; and the test command's own helpers
setup() {
    need_program git git
    need_program pgrep procps
}
run() {
    (cd tests/style && python3 rules_tests.py)
    (cd tests/lib && python3 lib_tests.py)
    python3 tests/style/run
}
