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
