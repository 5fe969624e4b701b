# the Python package: built as a wheel, installed, typed, formatted, tested
setup() {
    need_cargo
    need_python_tools
}
run() {
    local tools=$root/target/venv/bin wheels=$root/target/wheels
    rm -rf "$wheels"
    (cd python && "$tools/maturin" build --release --locked --interpreter "$tools/python" --out "$wheels")
    "$tools/python" -m pip install --quiet --no-deps --force-reinstall "$wheels"/*.whl

    "$tools/ruff" check --no-cache python
    "$tools/ruff" format --no-cache --check python
    (cd python && "$tools/mypy" --cache-dir "$root/target/mypy" && "$tools/mypy" --cache-dir "$root/target/mypy" tests)
    # From a folder without the sources, so that the installed package is compared with its stub, and tested.
    (cd target && "$tools/python" -m mypy.stubtest --mypy-config-file "$root/python/pyproject.toml" \
        --allowlist "$root/python/stubtest.txt" coder_core)
    "$tools/pytest" -p no:cacheprovider --basetemp "$TMPDIR/pytest" python/tests
    rm -rf "$TMPDIR/pytest"
}
