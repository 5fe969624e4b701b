//! Stopping a run: by an exact command from another process, and by a signal to the host. Either way it ends in a result
//! with a sealed trace, and nothing of it is left.

use crate::world::{Gate, Prepared, Started, User, World, reply, wait_readable};
use rstest::rstest;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::fd::OwnedFd;

/// A run that is in the middle of a command which would take for ever, with the processes below the host.
fn under_way(world: &World, prepared: &Prepared<'_>) -> (Started, Vec<OwnedFd>) {
    let mut gate = Gate::at(&world.path("tree/gate"));
    let host = prepared.call().start();
    gate.wait(&host);
    let below = host.freeze();
    assert!(below.len() >= 3, "the command and what holds it: {below:?}");
    host.signal(Signal::CONT);
    (host, below)
}

fn prepare(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    // A child that left its group and ignores the polite signal goes too.
    let script = "setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' & trap '' TERM; echo ready >gate; while :; do sleep 1000; done";
    world.prepare(
        &tree,
        &[
            reply(&["echo second >>notes.txt", script, "echo never >never"], false),
            reply(&[], true),
        ],
    )
}

#[track_caller]
fn ended(world: &World, task: &Value, below: Vec<OwnedFd>, revision: u64) {
    let result = &task["run"]["result"];
    let words = [
        &task["status"],
        &task["execution"],
        &result["ending"],
        &result["stop_requested"],
        &result["group_clear"],
    ];
    assert_eq!(
        words,
        [
            &json!("finished"),
            &json!("stopped"),
            &json!("cancelled_or_host_refusal"),
            &json!(true),
            &json!(true)
        ]
    );
    assert_eq!(
        (&result["exit_code"], &result["output_incomplete"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(task["revision"], json!(revision));
    for process in below {
        wait_readable(process, "a process outlived its run");
    }
    assert!(!world.path("tree/never").exists());
    assert!(!world.path("tasks/scratch").exists());
    // What was done before the stop is evidence and a candidate like any other.
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    assert_eq!(world.task(&["view", "task-1"]).json()["evidence"]["state"], "sealed");
    let kept = world
        .task(&["artifact", "task-1", "--path", "notes.txt", "--raw"])
        .run();
    assert_eq!(kept.printed(), "first\nsecond\n");
}

#[test]
fn a_cancel_command_ends_a_long_command() {
    let world = World::new();
    let prepared = prepare(&world);
    let (host, below) = under_way(&world, &prepared);
    let receipt = prepared.cancel();
    assert_eq!(
        (&receipt["status"], &receipt["revision"]),
        (&json!("cancel_requested"), &json!(4))
    );
    let task = host.wait().json(0);
    assert_eq!(task["cancellation_reason"], "not needed any more");
    ended(&world, &task, below, 5);
}

#[rstest]
#[case::terminated(Signal::TERM)]
#[case::interrupted(Signal::INT)]
#[case::hung_up(Signal::HUP)]
fn a_signal_to_the_host_ends_like_a_cancel(#[case] signal: Signal) {
    let world = World::new();
    let prepared = prepare(&world);
    let (host, below) = under_way(&world, &prepared);
    host.signal(signal);
    let task = host.wait().json(0);
    ended(&world, &task, below, 4);
}

#[test]
fn a_queued_task_is_cancelled_at_once_and_its_grant_refused() {
    let world = World::new();
    let prepared = prepare(&world);
    let receipt = prepared.cancel();
    assert_eq!(
        (&receipt["status"], &receipt["execution"]),
        (&json!("cancelled"), &json!("not_started"))
    );
    let (code, message) = prepared.call().run().refused(2);
    assert_eq!(code, "not_queued", "{message}");
    // The revision is exact: the same cancel with other bytes meets a task that moved on.
    let stale = world.read("cancel.json").replace("command-2", "command-3");
    world.write("stale.json", stale);
    let refused = world.task(&["cancel", "--file", &world.text("stale.json")]).run();
    assert_eq!(refused.refused(1).0, "revision_mismatch");
}

#[test]
fn two_hosts_of_one_grant_run_it_once() {
    let world = World::new();
    let prepared = prepare(&world);
    let (host, below) = under_way(&world, &prepared);
    let (code, message) = prepared.call().run().refused(2);
    assert_eq!(code, "not_queued", "{message}");
    prepared.cancel();
    ended(&world, &host.wait().json(0), below, 5);
}

#[test]
fn an_interrupted_command_in_the_boundary_ends_with_the_signals_status() {
    let world = World::of(User::Same);
    let mut gate = Gate::at(&world.path("work/gate"));
    let running = world
        .microcoder(&["exec", "--", "sh", "-c", "echo ready >gate; exec sleep 1000"])
        .start();
    gate.wait(&running);
    let below = running.freeze();
    running.signal(Signal::CONT);
    running.signal(Signal::TERM);
    let seen = running.wait();
    assert_eq!((seen.status, seen.stdout.as_str()), (143, ""));
    for process in below {
        wait_readable(process, "a process outlived its command");
    }
}

/// A second signal leaves out the grace and the last look at the workspace, and still leaves a result and a sealed trace.
#[test]
fn a_second_signal_is_quicker_and_recorded_all_the_same() {
    let world = World::new();
    let prepared = prepare(&world);
    let (host, below) = under_way(&world, &prepared);
    host.signal(Signal::TERM);
    host.signal(Signal::INT);
    let task = host.wait().json(0);
    let result = &task["run"]["result"];
    assert_eq!(
        (
            &task["execution"],
            &result["stop_requested"],
            &result["group_clear"],
            &result["candidate_snapshot"]
        ),
        (&json!("stopped"), &json!(true), &json!(true), &json!(null))
    );
    assert_eq!(
        result["output_incomplete"], true,
        "what the run left was not looked at, and the result says so"
    );
    for process in below {
        wait_readable(process, "a process outlived its run");
    }
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    let last: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    assert_eq!((&last["record"], &last["state"]), (&json!("end"), &json!("ended")));
    assert_eq!(
        result["trace_digest"],
        json!(coder_digest::Digest::of(trace.as_bytes()))
    );
}

#[test]
fn a_stop_while_another_owner_has_the_task_leaves_it_as_it_was() {
    let world = World::new();
    let prepared = prepare(&world);
    let lock = world.path("tasks/owner-task-1.lock");
    std::fs::write(&lock, "").unwrap();
    std::fs::set_permissions(&lock, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let host = prepared.call().start();
    let waits = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", host.pid.as_raw_nonzero())).unwrap();
        open.flatten()
            .any(|open| std::fs::read_link(open.path()).is_ok_and(|path| path == lock))
    };
    while !waits() {
        assert!(
            !host.ends_within(std::time::Duration::from_millis(5)),
            "it never waited"
        );
    }
    host.signal(Signal::TERM);
    let (code, message) = host.wait().refused(2);
    assert_eq!(code, "stopped", "{message}");
    drop(held);
    assert_eq!(world.task(&["show", "task-1"]).json()["status"], "queued");
}

/// A workspace so large that looking at it takes a while, so that a stop comes between admission and the first effect.
#[test]
fn a_cancel_between_admission_and_the_first_effect_starts_nothing() {
    let world = World::new();
    let prepared = prepare(&world);
    std::fs::File::create(world.path("tree/large"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    let host = prepared.call().start();
    while world.task(&["show", "task-1"]).json()["status"] == "queued" {
        assert!(
            !host.ends_within(std::time::Duration::from_millis(20)),
            "it was never admitted"
        );
    }
    let receipt = prepared.cancel();
    let task = host.wait().json(0);
    assert_eq!(receipt["revision"], 3, "the effect was not announced");
    let result = &task["run"]["result"];
    assert_eq!(
        (&task["execution"], &result["ending"], &result["group_clear"]),
        (&json!("stopped"), &json!("cancelled_before_dispatch"), &json!(true))
    );
    assert_eq!(world.read("tree/notes.txt"), "first\n");
}
