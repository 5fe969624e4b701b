# exported trajectories are valid for the reference validator
setup() {
    need_cargo
    need_harbor
}
run() {
    # The validator itself first: one that accepts anything would prove nothing.
    local trajectory=$TMPDIR/trajectory.json
    local agent='"agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"hi"}]'
    echo "{\"schema_version\":\"ATIF-v1.6\",\"session_id\":\"s1\",$agent}" >"$trajectory"
    "$harbor_python" -m harbor.utils.trajectory_validator "$trajectory"
    echo "{\"schema_version\":\"ATIF-v9.9\",$agent}" >"$trajectory"
    if "$harbor_python" -m harbor.utils.trajectory_validator "$trajectory"; then
        echo "the validator accepts a version that does not exist"
        return 1
    fi
    rm "$trajectory"

    export MICROCODER_HARBOR_PYTHON=$harbor_python
    cargo test --package coder-trace --test harbor --locked -- --quiet
}
