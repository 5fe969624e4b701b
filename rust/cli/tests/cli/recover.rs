//! What a killed owner leaves, closed by `coder task recover` or by the next admission: only with a proof that nothing is
//! left, and without doing anything again.

use crate::world::{Gate, Prepared, Started, World, reply, wait_readable};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::fd::OwnedFd;

/// A run that was killed in the middle of a command with a daemon, with the processes that were below its owner.
fn killed(prepared: &Prepared<'_>, gate: &mut Gate) -> Vec<OwnedFd> {
    let host: Started = prepared.call().start();
    gate.wait(&host);
    let below = host.freeze();
    assert!(below.len() >= 3, "the command and what holds it: {below:?}");
    host.signal(Signal::KILL);
    assert_eq!(host.wait().status, 128 + 9);
    below
}

fn prepare<'a>(world: &'a World, gate: &mut Option<Gate>) -> Prepared<'a> {
    let tree = world.worktree();
    *gate = Some(Gate::at(&tree.join("gate")));
    let script = "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1000; done' & echo ready >gate; while :; do sleep 1000; done";
    world.prepare(
        &tree,
        &[reply(&["echo second >>notes.txt", script], false), reply(&[], true)],
    )
}

#[track_caller]
fn closed(task: &Value) {
    let result = &task["run"]["result"];
    let found = json!({
        "status": task["status"], "execution": task["execution"], "ending": result["ending"], "exit_code": result["exit_code"],
        "group_clear": result["group_clear"], "cleanup": result["cleanup"], "output_incomplete": result["output_incomplete"],
        "cost_status": result["cost_status"],
    });
    let expected = json!({
        "status": "finished", "execution": "failed", "ending": "owner_process_ended", "exit_code": null,
        "group_clear": true, "cleanup": "process_namespace_ended", "output_incomplete": true, "cost_status": "unknown",
    });
    assert_eq!(found, expected);
}

/// Trap 1: a killed owner left its task unknown and its tree reserved for ever.
#[test]
fn a_killed_run_is_closed_with_a_proof_and_not_done_again() {
    let world = World::new();
    let mut gate = None;
    let prepared = prepare(&world, &mut gate);
    let below = killed(&prepared, &mut gate.unwrap());
    let trace = fs::read(world.path("tasks/task-1.1.atif.jsonl")).unwrap();
    // A reader changes nothing.
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "running");
    assert_eq!(world.task(&["verify", "task-1"]).run().json(1)["state"], "owner_gone");
    let task = world.task(&["recover", "task-1"]).json();
    closed(&task);
    for process in below {
        wait_readable(process, "a process outlived its run");
    }
    assert_eq!(fs::read(world.path("tasks/task-1.1.atif.jsonl")).unwrap(), trace);
    assert_eq!(world.task(&["show", "task-1"]).json(), task);
    // Again, and it stays as it is.
    assert_eq!(world.task(&["recover", "task-1"]).json(), task);
    assert_eq!(world.task(&["verify", "task-1"]).run().json(1)["verdict"], "incomplete");
    assert_eq!(prepared.call().run().refused(2).0, "not_queued");
}

#[test]
fn the_next_run_on_the_tree_closes_what_a_killed_one_left() {
    let world = World::new();
    let mut gate = None;
    let prepared = prepare(&world, &mut gate);
    drop(killed(&prepared, &mut gate.unwrap()));
    fs::remove_file(world.path("tree/gate")).unwrap();
    world.submit_as("task-2", "command-9", &world.path("tree"), ("bounded-command", None));
    let shown = world.task(&["show", "task-2"]).json();
    let mut next = prepared.grant.clone();
    next["task_id"] = json!("task-2");
    next["intent_digest"] = shown["intent_digest"].clone();
    next["arguments"] = json!(["-c", "true"]);
    next["adapter_configuration"] = json!(null);
    next["wall_seconds"] = json!(60);
    let next = Prepared {
        world: &world,
        grant: next,
    };
    assert_eq!(next.bounded("execute").json()["execution"], "finished");
    closed(&world.task(&["show", "task-1"]).json());
}

#[test]
fn a_live_owner_is_not_recovered_from() {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let prepared = world.prepare(&tree, &[reply(&["echo ready >gate; exec sleep 1000"], false)]);
    let host = prepared.call().start();
    gate.wait(&host);
    assert_eq!(world.task(&["recover", "task-1"]).run().refused(1).0, "store_busy");
    host.signal(Signal::TERM);
    assert_eq!(host.wait().json(0)["execution"], "stopped");
    let task = world.task(&["show", "task-1"]).json();
    assert_eq!(world.task(&["recover", "task-1"]).json(), task);
}

/// What cannot be proved is not claimed: the names are gone with the trace.
#[test]
fn a_run_whose_trace_is_gone_stays_unknown_and_keeps_its_tree() {
    let world = World::new();
    let mut gate = None;
    let prepared = prepare(&world, &mut gate);
    let below = killed(&prepared, &mut gate.unwrap());
    let trace = world.path("tasks/task-1.1.atif.jsonl");
    let kept = fs::read(&trace).unwrap();
    fs::remove_file(&trace).unwrap();
    let seen = world.task(&["recover", "task-1"]).run();
    assert!(
        seen.stderr
            .starts_with("not known to be gone: the trace cannot be read"),
        "{}",
        seen.stderr
    );
    let task: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(
        (
            seen.status,
            &task["status"],
            &task["run"]["reason"],
            &task["run"]["result"]
        ),
        (
            0,
            &json!("unknown"),
            &json!("owner_lost_effects_not_replayed"),
            &Value::Null
        )
    );
    // With the trace back it can be proved after all.
    world.write("tasks/task-1.1.atif.jsonl", kept);
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&trace, fs::Permissions::from_mode(0o600)).unwrap();
    closed(&world.task(&["recover", "task-1"]).json());
    for process in below {
        wait_readable(process, "a process outlived its run");
    }
}
