//! Messages to a running task: read once, before the next step or the end, and in the trace; refused where nobody reads.

use crate::world::{Gate, World, reply};
use rstest::rstest;
use serde_json::{Value, json};

/// The steps' messages events, in order: the step and what it was told.
fn told(world: &World) -> Vec<Value> {
    let view = world.task(&["view", "task-1"]).json();
    let steps = view["evidence"]["steps"].as_array().unwrap().clone();
    let events = steps.iter().map(|step| &step["extra"]["microcoder"]["event"]);
    events
        .filter(|event| event["event"] == "messages" || event["messages"].is_array())
        .cloned()
        .collect()
}

#[rstest]
#[case::in_the_middle(false)]
#[case::at_the_end(true)]
fn a_message_is_read_before_the_next_step_and_a_finish_waits_for_it(#[case] finished: bool) {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let mut back = Gate::at(&tree.join("back"));
    let wait = "echo ready >gate; read go <back";
    let prepared = world.prepare(&tree, &[reply(&[wait], finished), reply(&["echo heard >heard"], true)]);
    let host = prepared.call().start();
    gate.wait(&host);
    let steered = world
        .task(&["steer", "task-1", "--message", "Write \"heard\" too.\nPlease."])
        .json();
    assert_eq!((&steered["task_id"], &steered["turn"]), (&json!("task-1"), &json!(1)));
    back.open();
    let task = host.wait().json(0);
    assert_eq!(task["run"]["result"]["ending"], "model_finished");
    assert_eq!(world.read("tree/heard"), "heard\n", "the run went on after the message");
    let told = told(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].to_string().contains("Write \\\"heard\\\" too."), "{}", told[0]);
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    assert_eq!(
        world
            .task(&["steer", "task-1", "--message", "too late"])
            .run()
            .refused(1)
            .0,
        "not_running"
    );
    assert!(!world.path("tasks/task-1.1.steer.jsonl").exists());
}

#[test]
fn a_message_that_comes_too_late_is_said_to_be_unread() {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let prepared = world.prepare(&tree, &[reply(&["echo ready >gate; exec sleep 1000"], false)]);
    let host = prepared.call().start();
    gate.wait(&host);
    world.task(&["steer", "task-1", "--message", "never read"]).json();
    host.signal(rustix::process::Signal::TERM);
    host.wait().json(0);
    let view = world.task(&["view", "task-1"]).json();
    let steps = view["evidence"]["steps"].as_array().unwrap();
    let unread: Vec<&Value> = steps
        .iter()
        .map(|step| &step["extra"]["steer_unread"])
        .filter(|unread| !unread.is_null())
        .collect();
    assert_eq!(unread, [&json!({ "messages": ["never read"] })]);
}
