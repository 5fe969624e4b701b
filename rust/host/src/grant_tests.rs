use super::*;
use rstest::rstest;
use serde_json::{Value, json};

pub(crate) fn template() -> Value {
    json!({
        "schema": "openagents.coder.task-execution-grant.v1",
        "task_id": "task-1",
        "intent_digest": format!("sha256:{}", "0".repeat(64)),
        "expected_revision": 1,
        "expected_source_snapshot": null,
        "program": "/bin/bash",
        "arguments": [],
        "write_workspace": true,
        "stream_bytes": 65536,
        "memory_bytes": 536_870_912,
        "requirements": null,
        "adapter_configuration": {
            "schema": "openagents.microcoder.repository-config.v1",
            "provider": "openai",
            "model": "qwen3",
            "effort": "medium",
            "generation_endpoint": "http://127.0.0.1:11434/v1",
            "decision_endpoint": "https://decisions.example",
            "decision_model": "jev-1.13.0",
            "acceptance": false,
            "route": "never",
            "knowledge": "off",
            "dollar_limit_micros": null,
            "expected_controller_digest": null
        }
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut grant = template();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    grant.pointer_mut(parent).unwrap()[name] = value;
    grant
}

fn read(grant: &Value) -> Result<Grant, Error> {
    Grant::parse(grant.to_string().as_bytes())
}

#[test]
fn the_template_is_a_grant_and_keeps_its_exact_bytes() {
    let text = serde_json::to_string_pretty(&template()).unwrap();
    let grant = Grant::parse(text.as_bytes()).unwrap();
    assert_eq!(
        (grant.digest, grant.text.as_str()),
        (Digest::of(text.as_bytes()), text.as_str())
    );
    assert_eq!(grant.workspace_access, WorkspaceAccess::Write);
    assert!(matches!(grant.work, Work::Repository(_)));
}

#[test]
fn limits_of_an_earlier_version_are_read_and_ignored() {
    let mut old = with("/wall_seconds", json!(600));
    old["adapter_configuration"]["max_steps"] = json!(16);
    let (new, old) = (read(&template()).unwrap(), read(&old).unwrap());
    assert_eq!(old.work, new.work);
}

#[rstest]
#[case::prefixed(format!("sha256:{}", "ab".repeat(32)))]
#[case::bare("ab".repeat(32))]
fn both_forms_of_a_snapshot_digest_pin_the_same_source(#[case] written: String) {
    // Trap j: a prefixed pin passed the shape check and could never match the bare snapshot.
    let grant = read(&with("/expected_source_snapshot", json!(written))).unwrap();
    assert_eq!(grant.expected_source_snapshot, Some("ab".repeat(32).parse().unwrap()));
}

#[rstest]
#[case::schema("/schema", json!("other.v1"), "unsupported_schema")]
#[case::unknown_field("/surprise", json!(1), "grant_shape")]
#[case::unknown_inner_field("/adapter_configuration/surprise", json!(1), "grant_shape")]
#[case::digest("/intent_digest", json!("sha256:12"), "grant_shape")]
#[case::task("/task_id", json!("../x"), "grant_shape")]
#[case::revision("/expected_revision", json!(0), "grant_field")]
#[case::negative_revision("/expected_revision", json!(-1), "grant_shape")]
#[case::relative_program("/program", json!("bash"), "grant_field")]
#[case::dotted_program("/program", json!("/bin/../bin/bash"), "grant_field")]
#[case::doubled_program("/program", json!("/bin//bash"), "grant_field")]
#[case::long_program("/program", json!(format!("/{}", "x".repeat(4096))), "grant_field")]
#[case::torn_program("/program", json!("/bin/ba\u{0}sh"), "grant_field")]
#[case::arguments("/arguments", json!(["-c"]), "grant_field")]
#[case::small_stream("/stream_bytes", json!(1023), "grant_field")]
#[case::large_stream("/stream_bytes", json!(1_048_577), "grant_field")]
#[case::small_memory("/memory_bytes", json!(67_108_863), "grant_field")]
#[case::large_memory("/memory_bytes", json!(8_589_934_593_u64), "grant_field")]
#[case::requirements_shape("/requirements", json!({}), "grant_shape")]
#[case::acceptance("/adapter_configuration/acceptance", json!(true), "grant_field")]
#[case::route("/adapter_configuration/route", json!("always"), "grant_field")]
#[case::dollars("/adapter_configuration/dollar_limit_micros", json!(1), "grant_field")]
#[case::knowledge("/adapter_configuration/knowledge", json!("frozen-context"), "grant_field")]
#[case::container("/adapter_configuration/container", json!({}), "grant_shape")]
#[case::fallbacks("/adapter_configuration/fallbacks", json!([{}]), "grant_shape")]
#[case::http("/adapter_configuration/generation_endpoint", json!("http://models.example/v1"), "grant_field")]
#[case::user_info("/adapter_configuration/generation_endpoint", json!("https://u:p@models.example/v1"), "grant_field")]
#[case::query("/adapter_configuration/decision_endpoint", json!("https://d.example/?k=1"), "grant_field")]
#[case::plain_decisions("/adapter_configuration/decision_endpoint", json!("http://d.example"), "grant_field")]
#[case::key_for_name("/adapter_configuration/credential_env", json!("sk-1234"), "grant_field")]
#[case::script("/adapter_configuration/script", json!("/tmp/x"), "grant_field")]
#[case::effort("/adapter_configuration/effort", json!("extreme"), "grant_shape")]
#[case::provider("/adapter_configuration/provider", json!("codex"), "grant_field")]
#[case::unknown_provider("/adapter_configuration/provider", json!("gemini"), "grant_shape")]
#[case::access("/adapter_configuration/access", json!("all"), "grant_shape")]
fn a_field_outside_its_bounds_refuses(#[case] pointer: &str, #[case] value: Value, #[case] code: &str) {
    let error = read(&with(pointer, value)).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
}

#[test]
fn requirements_are_read_with_the_grant() {
    let mut requirements = crate::requirements::tests::template();
    requirements["knowledge"] = json!([]);
    let grant = read(&with("/requirements", requirements.clone())).unwrap();
    let digest = grant.requirements.map(|requirements| requirements.digest());
    assert_eq!(digest, Some(json::digest(&requirements)));
    requirements["version"] = json!(0);
    let error = read(&with("/requirements", requirements)).unwrap_err();
    assert_eq!(error.code(), "grant_field");
}

#[test]
fn what_is_not_bounded_strict_json_is_told_apart_from_an_unknown_shape() {
    let twice = template().to_string().replacen('{', "{\"schema\":\"x\",", 1);
    assert_eq!(Grant::parse(twice.as_bytes()).unwrap_err().code(), "grant_text");
    let deep = with(
        "/requirements",
        serde_json::from_str(&format!("{}1{}", "[".repeat(64), "]".repeat(64))).unwrap(),
    );
    assert_eq!(read(&deep).unwrap_err().code(), "grant_text");
    let large = with("/arguments", json!(["x".repeat(65 * 1024)]));
    assert_eq!(read(&large).unwrap_err().code(), "grant_text");
}

#[rstest]
#[case::unknown(
    "/surprise",
    "invalid shape (a newer program may have written it: use that version, or leave the field out)",
    "unknown field `surprise`"
)]
#[case::inner(
    "/adapter_configuration/container",
    "invalid shape",
    "at `adapter_configuration.container`: invalid type: integer"
)]
#[case::unknown_inner(
    "/adapter_configuration/surprise",
    "a newer program may have written it",
    "at `adapter_configuration.surprise`: unknown field"
)]
#[case::unknown_word(
    "/adapter_configuration/provider",
    "a newer program may have written it",
    "at `adapter_configuration.provider`:"
)]
#[case::wrong_type("/stream_bytes", "invalid shape", "at `stream_bytes`: invalid type")]
fn issue_10113_a_refused_shape_names_the_field_and_what_may_be_the_matter(
    #[case] pointer: &str,
    #[case] said: &str,
    #[case] place: &str,
) {
    let value = match pointer {
        "/adapter_configuration/provider" => json!("gemini"),
        "/stream_bytes" => json!("many"),
        _ => json!(1),
    };
    let error = read(&with(pointer, value)).unwrap_err();
    let message = error.message();
    assert!(message.contains(said) && message.contains(place), "{message}");
    assert_eq!(message.contains("newer"), said.contains("newer"), "{message}");
}

fn bounded(name: &str, value: Value) -> Result<Grant, Error> {
    let mut grant = with("/adapter_configuration", Value::Null);
    grant["wall_seconds"] = json!(60);
    grant["program"] = json!("/usr/bin/make");
    grant[name] = value;
    read(&grant)
}

#[rstest]
#[case::none("wall_seconds", Value::Null, false)]
#[case::zero("wall_seconds", json!(0), false)]
#[case::least("wall_seconds", json!(1), true)]
#[case::most("wall_seconds", json!(3600), true)]
#[case::more("wall_seconds", json!(3601), false)]
#[case::arguments("arguments", json!(["check", "", "-j\n2"]), true)]
#[case::most_arguments("arguments", json!(vec!["x"; 128]), true)]
#[case::more_arguments("arguments", json!(vec!["x"; 129]), false)]
#[case::torn_argument("arguments", json!(["a\u{0}b"]), false)]
#[case::any_program("program", json!("/opt/tool/bin/x"), true)]
#[case::relative_program("program", json!("make"), false)]
#[case::least_stream("stream_bytes", json!(1024), true)]
#[case::most_stream("stream_bytes", json!(1_048_576), true)]
#[case::least_memory("memory_bytes", json!(67_108_864), true)]
#[case::most_memory("memory_bytes", json!(8_589_934_592_u64), true)]
#[case::more_memory("memory_bytes", json!(8_589_934_593_u64), false)]
fn the_bounds_of_a_bounded_command(#[case] name: &str, #[case] value: Value, #[case] taken: bool) {
    match bounded(name, value.clone()) {
        Ok(grant) => {
            let Work::BoundedCommand { wall_seconds } = grant.work else {
                panic!("a bounded command")
            };
            let read_back = json!({
                "wall_seconds": wall_seconds, "arguments": grant.arguments, "program": grant.program,
                "stream_bytes": grant.stream_bytes, "memory_bytes": grant.memory_bytes,
            });
            assert!(taken && read_back[name] == value, "{read_back}");
        }
        Err(error) => {
            assert!(!taken, "{error}");
            let Error::GrantField { field, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(field, name);
        }
    }
}

#[test]
fn a_written_grant_reads_back_to_what_was_written() {
    let Work::Repository(configuration) = read(&template()).unwrap().work else {
        panic!("a repository grant")
    };
    let task_id = TaskId::new("task-1").unwrap();
    let new = NewGrant {
        task_id: &task_id,
        intent_digest: Digest::of(b"intent"),
        expected_revision: 3,
        expected_source_snapshot: Some(Digest::of(b"source")),
        program: Path::new("/bin/sh"),
        workspace_access: WorkspaceAccess::Read,
        memory_bytes: 64 * 1024 * 1024,
        require: Level::Landlock,
        limits: Limits {
            pids: Some(64),
            ..Limits::default()
        },
        requirements: None,
        configuration: &configuration,
    };
    let grant = write(&new).unwrap();
    assert_eq!((grant.require, grant.limits), (new.require, new.limits));
    assert_eq!(grant.work, Work::Repository(configuration));
    assert_eq!(
        (grant.expected_revision, grant.workspace_access),
        (3, WorkspaceAccess::Read)
    );
}
