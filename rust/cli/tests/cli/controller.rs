//! The program that runs a task is recorded, and read whole only where the grant pins it.

use crate::world::{World, reply};
use coder_digest::Digest;
use serde_json::{Value, json};
use std::fs;

/// What the trace says of the controller.
fn recorded(world: &World) -> Value {
    let admission: Value =
        serde_json::from_str(world.read("tasks/task-1.1.atif.jsonl").lines().nth(2).unwrap()).unwrap();
    admission["step"]["extensions"]["controller"].clone()
}

#[test]
fn trap_9_the_controller_is_digested_only_where_it_is_pinned() {
    let world = World::new();
    let mut prepared = world.prepare(&world.path("repo"), &[reply(&[], true)]);
    prepared.grant["write_workspace"] = false.into();
    prepared.call().json();
    let controller = recorded(&world);
    assert_eq!(controller["digest"], Value::Null);
    assert_eq!(controller["version"], env!("CARGO_PKG_VERSION"));

    let program = fs::read(controller["path"].as_str().unwrap()).unwrap();
    assert_eq!(controller["bytes"], program.len());
    let digest = Digest::of(&program);
    let world = World::new();
    let mut prepared = world.prepare(&world.path("repo"), &[reply(&[], true)]);
    prepared.grant["write_workspace"] = false.into();
    prepared.grant["adapter_configuration"]["expected_controller_digest"] = json!(digest);
    prepared.call().json();
    assert_eq!(recorded(&world)["digest"], json!(digest));
    // What was pinned is what is attested.
    let stated = world.task(&["export", "task-1", "--in-toto"]).json();
    assert_eq!(stated["predicate"]["controller"]["digest"], json!(digest));
    assert_eq!(stated["predicate"]["result"]["ending"], "model_finished");
}
