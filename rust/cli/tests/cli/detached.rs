//! A run that outlives who started it: what is started with, what is refused at once, and where a later refusal is told.

use crate::world::{Detached, Gate, World, reply};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;

/// What the owner said, line by line where it is one document a line.
fn diagnostic(pending: &Value) -> String {
    fs::read_to_string(pending["diagnostic_path"].as_str().unwrap()).unwrap()
}

#[test]
fn a_detached_run_is_on_its_own_and_ends_in_a_result() {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let mut back = Gate::at(&tree.join("back"));
    let script = "echo second >>notes.txt; echo ready >gate; read go <back";
    let prepared = world.prepare(&tree, &[reply(&[script], true)]);
    let pending = prepared
        .detach()
        .variable("UNRELATED_SECRET", "canary")
        .variable("LOGNAME", "tester")
        .json();
    let owner = Detached::hold(&pending["owner_process"]).unwrap();
    gate.wait(&owner);
    let pid = pending["owner_process"].as_i64().unwrap();
    let expected = json!({
        "task_id": "task-1",
        "owner_process": pid,
        "admission": "pending",
        "grant_digest": Digest::of(prepared.grant.to_string().as_bytes()),
        "diagnostic_path": pending["diagnostic_path"],
        "message": "started; `coder task show` says whether it was admitted, and the diagnostic why it was not",
    });
    assert_eq!(pending, expected);

    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session: i64 = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(3)
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(session, pid, "a session of its own");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let names: BTreeSet<&str> = environment
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| std::str::from_utf8(entry).unwrap().split_once('=').unwrap().0)
        .collect();
    assert_eq!(names, BTreeSet::from(["HOME", "LOGNAME", "PATH", "TMPDIR"]));
    assert_eq!(
        fs::read_link(format!("/proc/{pid}/fd/0")).unwrap().to_str(),
        Some("/dev/null")
    );

    let again = prepared.detach().run().refused(2);
    assert!(matches!(again.0.as_str(), "not_queued"), "{again:?}");
    back.open();
    owner.wait();
    let task = world.task(&["show", "task-1"]).json();
    assert_eq!(
        (&task["status"], &task["run"]["result"]["ending"]),
        (&json!("finished"), &json!("model_finished"))
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");

    let said = diagnostic(&pending);
    let (first, rest) = said.split_once('\n').unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["launch"]["grant_digest"], pending["grant_digest"]);
    assert_eq!(serde_json::from_str::<Value>(rest).unwrap(), task);
    for entry in fs::read_dir(world.path("tasks/launch")).unwrap().map(Result::unwrap) {
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{entry:?}"
        );
        if entry.path().to_str().unwrap().ends_with(".grant.json") {
            assert_eq!(fs::read_to_string(entry.path()).unwrap(), prepared.grant.to_string());
        }
    }
}

#[test]
fn what_only_the_owner_finds_wrong_is_in_the_diagnostic_and_the_task_waits() {
    let world = World::new();
    // A writing grant on the repository's own checkout: the launcher does not look at the workspace.
    let prepared = world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let pending = prepared.detach().json();
    if let Some(owner) = Detached::hold(&pending["owner_process"]) {
        owner.wait();
    }
    let said = diagnostic(&pending);
    let error: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["code"], "writable_checkout");
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "queued");
}

#[rstest]
#[case::shape("{", "grant_text")]
#[case::revision(r#""expected_revision":1"#, "grant_mismatch")]
#[case::kind(r#""adapter_configuration":{"#, "grant_field")]
fn what_can_be_found_wrong_at_once_starts_nothing(#[case] part: &str, #[case] code: &str) {
    let world = World::new();
    let prepared = world.prepare(&world.worktree(), &[reply(&[], true)]);
    let mut grant = prepared.grant.clone();
    let grant = match code {
        "grant_text" => part.to_owned(),
        "grant_mismatch" => {
            grant["expected_revision"] = json!(2);
            grant.to_string()
        }
        _ => {
            grant["adapter_configuration"] = json!(null);
            grant["wall_seconds"] = json!(5);
            grant.to_string()
        }
    };
    let refused = prepared.call_with(grant).arguments(&["--detach"]).run().refused(2);
    assert_eq!(refused.0, code);
    assert!(!world.path("tasks/launch").exists());
}

#[test]
fn a_start_beside_one_that_is_still_pending_is_refused() {
    let world = World::new();
    let prepared = world.prepare(&world.worktree(), &[reply(&[], true)]);
    fs::create_dir(world.path("tasks/launch")).unwrap();
    let claim = File::create(world.path("tasks/launch/task-1.lock")).unwrap();
    claim.lock().unwrap();
    assert_eq!(prepared.detach().run().refused(2).0, "already_started");
    drop(claim);
    let pending = prepared.detach().json();
    if let Some(owner) = Detached::hold(&pending["owner_process"]) {
        owner.wait();
    }
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "finished");
}
