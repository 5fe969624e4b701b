# the house rules a compiler cannot check: floors, headers, file sizes, unsafe, words; and the test command's own helpers
setup() {
    need_program git git
    need_program pgrep procps
    need_program shellcheck shellcheck
}

# Prints the tracked shell scripts: those named so, and those that say so in their first line.
shell_scripts() {
    local file first
    git ls-files | while IFS= read -r file; do
        if [ ! -f "$file" ]; then continue; fi
        first=
        IFS= read -r first <"$file" 2>/dev/null || true
        if [[ $file == *.sh || $first == '#!'*[/\ ]bash ]]; then echo "$file"; fi
    done
}

run() {
    (cd tests/style && python3 rules_tests.py)
    (cd tests/lib && python3 lib_tests.py)
    # Left out: variables that come from or go to another file, and quotes that keep a dollar on purpose.
    shell_scripts | xargs -d '\n' shellcheck --shell bash --severity warning --exclude SC1090,SC1091,SC2016,SC2034,SC2154
    python3 tests/style/run
}
