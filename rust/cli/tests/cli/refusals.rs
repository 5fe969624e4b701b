//! Every refusal of a grant: status 2, one error object, nothing printed, and neither the store nor the workspace changed
//! by a byte.

use crate::world::{Prepared, World, differences, reply};
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;

/// A grant on a linked worktree that would be run.
fn prepared(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    world.prepare(&tree, &[reply(&["echo second >>notes.txt"], false), reply(&[], true)])
}

/// Refuses, and leaves everything as it was.
#[track_caller]
fn refused(prepared: &Prepared<'_>, grant: impl AsRef<[u8]>) -> (String, String) {
    let world = prepared.world;
    let call = prepared.call_with(grant);
    let look = || {
        [
            world.listing("tasks"),
            world.listing("tree"),
            world.listing("repo"),
            world.listing("home"),
            world.listing("tmp"),
        ]
    };
    let before = look();
    let refusal = call.run().refused(2);
    assert_eq!(look(), before, "{refusal:?}");
    refusal
}

#[rstest]
#[case::unknown_field("/surprise", json!(1), "grant_shape", "unknown field `surprise`")]
#[case::unknown_inner_field("/adapter_configuration/surprise", json!(1), "grant_shape", "unknown field `surprise`")]
#[case::intent("/intent_digest", json!(format!("sha256:{}", "0".repeat(64))), "grant_mismatch", "intent_digest")]
#[case::revision("/expected_revision", json!(2), "grant_mismatch", "expected_revision` is 2, and the task's revision is 1")]
#[case::pin("/expected_source_snapshot", json!("0".repeat(64)), "grant_mismatch", "expected_source_snapshot")]
#[case::missing_program("/program", json!("/bin/no-such-shell"), "not_shell", "/bin/no-such-shell")]
#[case::no_shell("/program", json!("/usr/bin/env"), "not_shell", "/usr/bin/env")]
#[case::script("/adapter_configuration/script_digest", json!(format!("sha256:{}", "0".repeat(64))), "script_digest", "script.json")]
#[case::missing_script("/adapter_configuration/script", json!("/nonexistent/script"), "read_script", "/nonexistent/script")]
#[case::model("/adapter_configuration/model", json!("another"), "grant_mismatch", "`model` is another, and the task's model is recorded")]
#[case::task("/task_id", json!("task-2"), "not_found", "task-2")]
#[case::controller("/adapter_configuration/expected_controller_digest", json!(format!("sha256:{}", "0".repeat(64))), "grant_mismatch", "expected_controller_digest")]
#[case::no_adapter("/adapter_configuration", Value::Null, "grant_field", "wall_seconds")]
#[case::frozen("/adapter_configuration/knowledge", json!("frozen-context"), "grant_field", "`knowledge`")]
#[case::synthetic("/adapter_configuration/provider", json!("synthetic"), "grant_field", "only `scripted` takes it")]
#[case::provider_and_endpoint("/adapter_configuration/provider", json!("codex"), "grant_field", "https://chatgpt.com/backend-api/codex")]
#[case::container("/adapter_configuration/container", json!({
    "schema": "openagents.microcoder.container.v1", "docker_program": "/usr/bin/docker", "docker_digest": "0".repeat(64),
    "socket": "/run/docker.sock", "image": "0".repeat(64), "uid": 501, "gid": 20,
}), "not_supported", "`container`")]
#[case::fallbacks("/adapter_configuration/fallbacks", json!(vec![json!({
    "provider": "openai", "model": "other", "effort": null, "generation_endpoint": "http://127.0.0.1:9/v1",
}); 5]), "grant_field", "at most 4 routes are allowed")]
fn a_grant_that_does_not_fit(#[case] pointer: &str, #[case] value: Value, #[case] code: &str, #[case] said: &str) {
    let world = World::new();
    let prepared = prepared(&world);
    let mut grant = prepared.grant.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    grant.pointer_mut(parent).unwrap()[name] = value;
    let (found, message) = refused(&prepared, grant.to_string());
    assert_eq!(found, code, "{message}");
    assert!(message.contains(said), "{message}");
}

#[test]
fn a_grant_that_is_no_strict_json() {
    let world = World::new();
    let prepared = prepared(&world);
    let text = prepared.grant.to_string();
    let deep = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let cases = [
        (text.replacen('{', "{\"task_id\":\"task-1\",", 1), "task_id"),
        (
            text.replace("\"requirements\":null", &format!("\"requirements\":{deep}")),
            "64",
        ),
        (format!("\u{feff}{text}"), "byte order mark"),
        (format!("{text} {{}}"), "trailing"),
        (format!("{text}{}", " ".repeat(64 * 1024)), "65536"),
        (String::new(), "EOF"),
    ];
    for (grant, said) in cases {
        let (code, message) = refused(&prepared, &grant);
        assert_eq!(code, "grant_text", "{message}");
        assert!(message.contains(said), "{said}: {message}");
    }
    assert_eq!(refused(&prepared, b"{\"schema\":\"\xff\"}").0, "grant_text");
}

#[test]
fn trap_20_a_workspace_that_is_a_directory_of_a_checkout() {
    let world = World::new();
    let prepared = world.prepare(&world.path("repo/inner"), &[reply(&[], true)]);
    let (code, message) = refused(&prepared, prepared.grant.to_string());
    assert_eq!(code, "not_top_level", "{message}");
    assert!(message.contains(&world.text("repo")), "{message}");
}

#[test]
fn trap_m_a_writing_grant_on_an_ordinary_checkout_names_the_way_out() {
    let world = World::new();
    let prepared = world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let (code, message) = refused(&prepared, prepared.grant.to_string());
    assert_eq!(code, "writable_checkout");
    // The command is one to copy: it makes what the message says.
    let (repo, tree) = (world.text("repo"), world.text("repo-worktree"));
    let command = format!("git -C {repo} worktree add --detach {tree}");
    assert!(
        message.contains(&format!("use a linked worktree: {command}: ")),
        "{message}"
    );
    assert!(message.ends_with(&tree), "{message}");
    let arguments: Vec<&str> = command.split(' ').skip(3).collect();
    world.git("repo", &arguments);
    assert!(world.path("repo-worktree/notes.txt").is_file());
    // Where that name is taken, the next time another is said.
    let (_, message) = refused(&prepared, prepared.grant.to_string());
    assert!(message.ends_with("/repo-worktree-2"), "{message}");
}

#[test]
fn trap_20_an_empty_directory_inside_another_repository() {
    let world = World::new();
    let empty = world.directory("repo/new");
    let mut prepared = world.prepare(&empty, &[reply(&[], true)]);
    for writes in [true, false] {
        prepared.grant["write_workspace"] = json!(writes);
        let (code, message) = refused(&prepared, prepared.grant.to_string());
        assert_eq!(code, "not_top_level", "{message}");
        assert!(message.contains(&world.text("repo")), "{message}");
    }
}

/// A grant of a provider that is part of the format and has no client here.
#[rstest]
#[case("devin", "default", "local:devin-acp")]
#[case("opencode", "provider/model", "local:opencode-acp")]
#[case("grok", "default", "local:grok-acp")]
#[case("synthetic", "any", "in-process")]
fn a_provider_without_a_client_is_refused_by_its_name(
    #[case] provider: &str,
    #[case] model: &str,
    #[case] endpoint: &str,
) {
    let world = World::new();
    let mut prepared = prepared(&world);
    let configuration = &mut prepared.grant["adapter_configuration"];
    configuration["provider"] = json!(provider);
    configuration["model"] = json!(model);
    configuration["generation_endpoint"] = json!(endpoint);
    configuration
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("script"));
    let (code, message) = refused(&prepared, prepared.grant.to_string());
    assert_eq!(code, "provider_not_supported", "{message}");
    assert!(message.contains(&format!("`{provider}`")), "{message}");
    // The shape comes first: an endpoint that is not the provider's is another mistake.
    prepared.grant["adapter_configuration"]["generation_endpoint"] = json!("https://elsewhere.example");
    assert_eq!(refused(&prepared, prepared.grant.to_string()).0, "grant_field");
}

/// A provider whose login, program or key this computer does not have: what is missing, and what to do.
#[rstest]
#[case(
    "codex",
    "gpt-6-luna",
    "https://chatgpt.com/backend-api/codex",
    "login",
    "run `codex login`"
)]
#[case(
    "claude",
    "claude-opus-5-5",
    "https://api.anthropic.com",
    "program",
    "CLAUDE_BIN names /nonexistent/claude"
)]
#[case(
    "anthropic",
    "claude-opus-5-5",
    "https://api.anthropic.com",
    "provider_unavailable",
    "`NO_SUCH_KEY` that the grant names is not set"
)]
fn a_provider_that_is_not_ready_says_why(
    #[case] provider: &str,
    #[case] model: &str,
    #[case] endpoint: &str,
    #[case] code: &str,
    #[case] words: &str,
) {
    let world = World::new();
    let mut prepared = prepared(&world);
    let configuration = &mut prepared.grant["adapter_configuration"];
    configuration["provider"] = json!(provider);
    configuration["model"] = json!(model);
    configuration["generation_endpoint"] = json!(endpoint);
    configuration
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("script"));
    if provider == "anthropic" {
        configuration["credential_env"] = json!("NO_SUCH_KEY");
    }
    let before = world.listing("tasks");
    let seen = prepared.call().variable("CLAUDE_BIN", "/nonexistent/claude").run();
    let (refused, message) = seen.refused(2);
    assert_eq!(refused, code, "{message}");
    assert!(message.contains(words), "{message}");
    assert_eq!(
        crate::world::differences(&before, &world.listing("tasks")),
        [] as [String; 0]
    );
}

/// The whole error object, with the part that refused.
#[rstest]
#[case::shape("/stream_bytes", json!("many"), "grant_shape", Some("configuration"))]
#[case::program("/program", json!("/usr/bin/env"), "not_shell", Some("admission"))]
#[case::script("/adapter_configuration/script_digest", json!("0".repeat(64)), "script_digest", Some("scripted"))]
fn one_error_object_with_its_code_and_cause(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] code: &str,
    #[case] cause: Option<&str>,
) {
    let world = World::new();
    let mut prepared = prepared(&world);
    *prepared.grant.pointer_mut(pointer).unwrap() = value;
    let seen = prepared.call().run();
    let message = seen.refused(2).1;
    let error: Value = serde_json::from_str(&seen.stderr).unwrap();
    assert_eq!(
        error,
        json!({ "error": message, "code": code, "cause": cause.unwrap() })
    );
}

#[test]
fn a_grant_that_cannot_be_read_has_no_cause() {
    let world = World::new();
    let seen = world.microcoder(&["repository", "--grant", "/nonexistent/grant"]).run();
    let (code, message) = seen.refused(2);
    let error: Value = serde_json::from_str(&seen.stderr).unwrap();
    assert_eq!(
        (code.as_str(), error),
        ("read_grant", json!({ "error": message, "code": "read_grant" }))
    );
}

#[test]
fn a_store_inside_the_workspace_and_a_workspace_inside_the_store() {
    let world = World::new();
    let tree = world.worktree();
    let outer = world.prepare(&tree, &[reply(&[], true)]);
    world.write("grant.json", outer.grant.to_string());
    fs::rename(world.path("tasks"), world.path("tree/tasks")).unwrap();
    let store = world.text("tree/tasks");
    let before = world.listing("");
    let seen = world
        .microcoder(&["repository", "--grant", &world.text("grant.json"), "--store", &store])
        .run();
    assert_eq!(seen.refused(2).0, "unsafe_path");
    assert_eq!(differences(&before, &world.listing("")), [""; 0]);
}

#[test]
fn no_store_makes_none() {
    let world = World::new();
    let prepared = prepared(&world);
    world.write("grant.json", prepared.grant.to_string());
    let store = world.text("elsewhere");
    let seen = world
        .microcoder(&["repository", "--grant", &world.text("grant.json"), "--store", &store])
        .run();
    let (code, message) = seen.refused(2);
    assert_eq!(code, "no_store");
    assert!(message.contains(&store), "{message}");
    assert!(!world.path("elsewhere").exists());
    for verb in [
        &["list"][..],
        &["show", "task-1"],
        &["view", "task-1"],
        &["verify", "task-1"],
        &["export", "task-1"],
    ] {
        let seen = world
            .coder(&["task"])
            .arguments(verb)
            .arguments(&["--store", &store])
            .run();
        assert_eq!(seen.refused(1).0, "no_store");
        assert!(!world.path("elsewhere").exists(), "{verb:?}");
    }
}

#[test]
fn a_credential_variable_that_is_not_set_or_empty() {
    let world = World::new();
    let mut prepared = prepared(&world);
    let configuration = &mut prepared.grant["adapter_configuration"];
    configuration["provider"] = json!("openai");
    configuration["generation_endpoint"] = json!("http://127.0.0.1:9/v1");
    configuration["credential_env"] = json!("MODEL_KEY");
    configuration
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !name.starts_with("script"));
    let (code, message) = refused(&prepared, prepared.grant.to_string());
    assert_eq!(code, "provider_unavailable");
    assert!(message.contains("MODEL_KEY"), "{message}");
    let seen = prepared.call().variable("MODEL_KEY", "").run();
    assert_eq!(seen.refused(2).0, "provider_unavailable");
}

#[test]
fn a_finished_task_is_not_run_again() {
    let world = World::new();
    let prepared = prepared(&world);
    let task = prepared.call().json();
    assert_eq!(task["status"], "finished");
    let (code, message) = refused(&prepared, prepared.grant.to_string());
    assert_eq!(code, "not_queued");
    assert!(message.contains("task-1 is finished"), "{message}");
}

#[test]
fn an_instruction_file_that_is_no_plain_file() {
    let world = World::new();
    let prepared = prepared(&world);
    std::os::unix::fs::symlink("/etc/passwd", world.path("tree/AGENTS.md")).unwrap();
    assert_eq!(refused(&prepared, prepared.grant.to_string()).0, "instructions");
    fs::remove_file(world.path("tree/AGENTS.md")).unwrap();
    world.write("tree/AGENTS.md", vec![b'x'; 64 * 1024 + 1]);
    assert_eq!(refused(&prepared, prepared.grant.to_string()).0, "instructions");
}
