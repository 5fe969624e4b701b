use super::*;
use rstest::rstest;

fn grant(configuration: serde_json::Value) -> Grant {
    let bounded = configuration.is_null();
    let mut grant = json!({
        "schema": "openagents.coder.task-execution-grant.v1",
        "task_id": "task-1",
        "intent_digest": format!("sha256:{}", "0".repeat(64)),
        "expected_revision": 1,
        "program": "/bin/bash",
        "arguments": [],
        "write_workspace": true,
        "stream_bytes": 65536,
        "memory_bytes": 536_870_912,
        "adapter_configuration": configuration,
    });
    if bounded {
        grant["wall_seconds"] = json!(5);
    }
    Grant::parse(grant.to_string().as_bytes()).unwrap()
}

fn openai(access: &str) -> serde_json::Value {
    json!({
        "schema": "openagents.microcoder.repository-config.v1",
        "provider": "openai",
        "model": "model",
        "effort": null,
        "generation_endpoint": "http://127.0.0.1:9/v1",
        "decision_endpoint": "in-process",
        "decision_model": "none",
        "acceptance": false,
        "route": "never",
        "knowledge": "off",
        "dollar_limit_micros": null,
        "expected_controller_digest": null,
        "api": "chat_completions",
        "credential_env": "MY_KEY",
        "access": access,
    })
}

/// Trap 22: service managers give bare environments and sign-ins need names; and nothing else of the environment may pass.
#[rstest]
#[case::bounded(json!(null), &["HOME", "LOGNAME", "PATH", "USER"])]
#[case::remote(openai("boundary"), &["HOME", "LOGNAME", "MY_KEY", "PATH", "USER"])]
#[case::toolchains(openai("toolchains"), &["CARGO_HOME", "HOME", "LOGNAME", "MY_KEY", "OPENAGENTS_TOOLCHAIN_GOPATH", "OPENAGENTS_TOOLCHAIN_PATH", "PATH", "USER"])]
fn the_environment_is_what_the_grant_needs(#[case] configuration: serde_json::Value, #[case] expected: &[&str]) {
    let set = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "MY_KEY",
        "OTHER_KEY",
        "CARGO_HOME",
        "OPENAGENTS_TOOLCHAIN_GOPATH",
        "OPENAGENTS_TOOLCHAIN_PATH",
        "LD_PRELOAD",
        "AWS_SECRET_ACCESS_KEY",
    ];
    let environment = |name: &str| set.contains(&name).then(|| OsString::from("value"));
    let names: Vec<OsString> = needed(&grant(configuration), &environment)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, expected.iter().map(OsString::from).collect::<Vec<_>>());
}
