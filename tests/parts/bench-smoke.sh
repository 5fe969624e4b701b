# every benchmark still runs, once and unmeasured
setup() { need_cargo; }
# Under `cargo test` a benchmark runs each of its cases once; the tests' own build profile is shared, not a third one made.
run() {
    local package bench passed=0 failed=0
    while read -r package bench; do
        echo "bench $package/$bench"
        if cargo test --locked --package "$package" --bench "$bench"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
    done < <(cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    for target in package["targets"]:
        if "bench" in target["kind"]:
            print(package["name"], target["name"])')
    if [ $((passed + failed)) = 0 ]; then missing "a bench target in the workspace"; fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
