//! One bounded command by an exact grant: its endings, its record, and that each kind of grant has its own door.

use crate::checks::{SUITE, requirements};
use crate::world::{Detached, Gate, World, reply, wait_readable};
use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};

#[rstest]
#[case::exits("echo second >>notes.txt; echo said; echo told >&2", json!("exited"), json!(0), "finished")]
#[case::fails("echo second >>notes.txt; exit 3", json!("exited"), json!(3), "failed")]
#[case::dies("echo second >>notes.txt; kill -9 $$", json!("signalled"), json!(null), "failed")]
#[case::floods("echo second >>notes.txt; cat /dev/zero", json!("output_limit"), json!(null), "failed")]
fn a_command_ends_in_the_supervisors_words(
    #[case] script: &str,
    #[case] ending: Value,
    #[case] exit: Value,
    #[case] execution: &str,
) {
    let world = World::new();
    let prepared = world.prepare_bounded(&world.worktree(), &["-c", script]);
    let task = prepared.bounded("execute").json();
    let result = &task["run"]["result"];
    assert_eq!(
        (
            &task["status"],
            &task["execution"],
            &result["ending"],
            &result["exit_code"],
            &result["group_clear"]
        ),
        (&json!("finished"), &json!(execution), &ending, &exit, &json!(true))
    );
    // Submitted, admitted, announced, spawned, ended.
    assert_eq!(task["revision"], 5);
    assert!(task["run"]["process_id"].as_u64().unwrap() > 0);
    assert_eq!(
        (&result["cost_status"], &result["cost_microusd"]),
        (&json!("priced"), &json!(0))
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    let kept = world
        .task(&["artifact", "task-1", "--path", "notes.txt", "--raw"])
        .run();
    assert_eq!(kept.printed(), "first\nsecond\n");
    let again = prepared.bounded("execute").run().refused(1);
    assert_eq!(again.0, "not_queued");
}

#[test]
fn a_command_has_no_network_and_cannot_reach_the_store() {
    let world = World::new();
    let store = world.text("tasks");
    let script = format!("ls {store} 2>&1; cat /proc/net/dev | grep -c : ; exit 0");
    let prepared = world.prepare_bounded(&world.worktree(), &["-c", &script]);
    prepared.bounded("execute").json();
    let view = world.task(&["view", "task-1"]).json();
    let call = view["evidence"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|step| step["observation"]["results"][0]["content"].as_str())
        .unwrap();
    assert!(
        call.contains("No such file or directory") && call.ends_with("1\n"),
        "{call}"
    );
}

#[test]
fn a_command_that_takes_too_long_is_ended_whole() {
    let world = World::new();
    let mut prepared = world.prepare_bounded(
        &world.worktree(),
        &["-c", "trap '' TERM; sleep 1000 & while :; do sleep 1000; done"],
    );
    prepared.grant["wall_seconds"] = json!(1);
    let task = prepared.bounded("execute").json();
    let result = &task["run"]["result"];
    assert_eq!(
        (
            &result["ending"],
            &result["exit_code"],
            &result["group_clear"],
            &result["stop_requested"]
        ),
        (&json!("deadline_exceeded"), &json!(null), &json!(true), &json!(false))
    );
}

#[test]
fn a_cancelled_command_is_stopped() {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let prepared = world.prepare_bounded(&tree, &["-c", "echo ready >gate; exec sleep 1000"]);
    let host = prepared.bounded("execute").start();
    gate.wait(&host);
    let below = host.freeze();
    host.signal(Signal::CONT);
    // The command may have got this far before its start is in the journal, so the revision may move (trap b).
    prepared.stop();
    let task = host.wait().json(0);
    assert_eq!(
        (&task["execution"], &task["run"]["result"]["ending"]),
        (&json!("stopped"), &json!("cancelled"))
    );
    for process in below {
        wait_readable(process, "a process outlived its run");
    }
}

/// Requirements were refused for what has no model.
#[rstest]
#[case::passes("echo second >>notes.txt", "passed")]
#[case::fails("true", "failed")]
#[case::did_not_finish("echo second >>notes.txt; exit 3", "unavailable")]
fn what_a_command_left_is_judged_by_the_suites_its_grant_pins(#[case] script: &str, #[case] verdict: &str) {
    let world = World::new();
    let suite = world.suite("notes", SUITE, json!({}));
    world.approve(&suite);
    let mut prepared = world.prepare_bounded(&world.worktree(), &["-c", script]);
    prepared.grant["requirements"] = requirements(&[&suite]);
    let task = prepared.bounded("execute").json();
    let suites = task["run"]["admission"]["context"]["suites"].as_array().unwrap();
    assert_eq!(suites[0]["check"], "notes");
    let task = world.task(&["check", "task-1"]).json();
    assert_eq!(task["checks"], verdict, "{task:#}");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    let mut knowing = prepared.grant.clone();
    knowing["requirements"]["knowledge"] = json!([{
        "id": "manual", "version": 1, "digest": "0".repeat(64), "path": "manual.md", "sources": ["a manual"],
    }]);
    world.write("grant.json", knowing.to_string());
    let grant = world.text("grant.json");
    assert_eq!(
        world.task(&["execute", "--grant", &grant]).run().refused(1).0,
        "grant_field"
    );
}

#[test]
fn a_detached_command_ends_by_itself() {
    let world = World::new();
    let prepared = world.prepare_bounded(&world.worktree(), &["-c", "echo second >>notes.txt"]);
    let pending = prepared.bounded("start").json();
    assert_eq!(pending["admission"], "pending");
    if let Some(owner) = Detached::hold(&pending["owner_process"]) {
        owner.wait();
    }
    assert_eq!(world.task(&["show", "task-1"]).json()["execution"], "finished");
    assert_eq!(world.read("tree/notes.txt"), "first\nsecond\n");
    let from_input = world.task(&["start", "--grant", "-"]).run().refused(1);
    assert_eq!(from_input.0, "configuration");
}

#[test]
fn a_program_that_cannot_run_is_told_and_nothing_is_left_open() {
    let world = World::new();
    let tree = world.worktree();
    let plain = world.write("tree/plain", "not a program");
    let mut prepared = world.prepare_bounded(&tree, &[]);
    prepared.grant["program"] = json!(plain);
    let task = prepared.bounded("execute").json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&task["status"], &result["ending"], &result["exit_code"]),
        (&json!("finished"), &json!("cancelled_or_host_refusal"), &json!(null))
    );
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.starts_with("the command could not be started: "), "{reason}");
}

#[test]
fn each_kind_of_grant_has_its_own_door() {
    let world = World::new();
    let tree = world.worktree();
    let repository = world.prepare(&tree, &[reply(&[], true)]);
    for verb in ["execute", "start"] {
        let (code, message) = repository.bounded(verb).run().refused(1);
        assert_eq!(code, "grant_field");
        assert!(
            message.contains("`microcoder repository` starts this grant"),
            "{message}"
        );
    }
    let mut bounded = repository.grant.clone();
    bounded["adapter_configuration"] = json!(null);
    bounded["wall_seconds"] = json!(5);
    assert_eq!(
        repository.call_with(bounded.to_string()).run().refused(2).0,
        "grant_field"
    );
    // The right door, and a task that asked for something else.
    world.write("grant.json", bounded.to_string());
    let refused = world
        .task(&["execute", "--grant", &world.text("grant.json")])
        .run()
        .refused(1);
    assert_eq!(refused.0, "grant_mismatch");
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "queued");
}
