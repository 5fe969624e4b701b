//! Later turns and corrections: what the next run is told, and what its trace says of it.

use crate::world::{Gate, PROMPT, Prepared, World, reply};
use serde_json::{Value, json};

/// The steps of the current turn.
fn steps(world: &World) -> Vec<Value> {
    let view = world.task(&["view", "task-1"]).json();
    view["evidence"]["steps"].as_array().unwrap().clone()
}

/// The grant that starts the task as it now stands.
fn next<'a>(prepared: &Prepared<'a>) -> Prepared<'a> {
    let mut grant = prepared.grant.clone();
    grant["expected_revision"] = prepared.world.task(&["show", "task-1"]).json()["revision"].clone();
    Prepared {
        world: prepared.world,
        grant,
    }
}

/// The text of the first prompt that was sent.
fn first_prompt(steps: &[Value]) -> String {
    let request = steps
        .iter()
        .map(|step| &step["extra"]["effect"])
        .find(|effect| effect["kind"] == "scripted_request")
        .unwrap();
    request["arguments"]["body"]["prompt"]["new"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_continued_task_is_told_its_earlier_turns() {
    let world = World::new();
    let prepared = world.prepare(&world.worktree(), &[reply(&["echo second >>notes.txt"], true)]);
    prepared.call().json();
    prepared.send(
        "command-2",
        json!({ "type": "continue", "prompt": "Now a third line." }),
    );
    let task = next(&prepared).call().json();
    assert_eq!(
        (&task["status"], &task["earlier"][0]["result"]["ending"]),
        (&json!("finished"), &json!("model_finished"))
    );
    let steps = steps(&world);
    let said: Vec<(&str, &str, &Value)> = steps
        .iter()
        .take(3)
        .map(|step| {
            (
                step["source"].as_str().unwrap(),
                step["message"].as_str().unwrap(),
                &step["extra"]["carried_from"],
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("user", PROMPT, &json!({ "turn": 1 })),
            ("agent", "Done.", &json!({ "turn": 1 })),
            ("user", "Now a third line.", &Value::Null),
        ]
    );
    let prompt = first_prompt(&steps);
    let expected = format!(
        "## Turn 1: the user asked\n\n{PROMPT}\n\n## Turn 1: you replied\n\nDone.\n\n## Now the user asks\n\nNow a third line."
    );
    assert!(prompt.contains(&expected), "{prompt}");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_correction_stops_the_run_and_the_next_one_acknowledges_it() {
    let world = World::new();
    let tree = world.worktree();
    let mut gate = Gate::at(&tree.join("gate"));
    let prepared = world.prepare(
        &tree,
        &[reply(&["echo ready >gate; exec sleep 1000"], false), reply(&[], true)],
    );
    let host = prepared.call().start();
    gate.wait(&host);
    let correction = json!({ "type": "correct", "prompt": "Only the first line.", "reason": "wrong file" });
    assert_eq!(prepared.send("command-2", correction)["status"], "cancel_requested");
    let task = host.wait().json(0);
    assert_eq!(
        (&task["execution"], &task["checks"], &task["cancellation_reason"]),
        (
            &json!("stopped"),
            &json!("disputed"),
            &json!("the request was corrected while the task ran")
        )
    );
    std::fs::remove_file(tree.join("gate")).unwrap();
    prepared.send("command-3", json!({ "type": "continue", "prompt": "Go on." }));
    let mut next = next(&prepared);
    let script =
        json!({ "schema": "openagents.microcoder.script.v1", "turns": [{ "reply": reply(&[], true) }] }).to_string();
    world.write("script.json", &script);
    next.grant["adapter_configuration"]["script_digest"] = json!(coder_digest::Digest::of(script.as_bytes()));
    next.call().json();
    let steps = steps(&world);
    let consumed: Vec<&Value> = steps
        .iter()
        .map(|step| &step["extra"]["steer_consumed"])
        .filter(|consumed| !consumed.is_null())
        .collect();
    let expected = json!({
        "revision": task["corrections"][0]["revision"], "reason": "wrong file", "adapter": "microcoder-repository",
        "acknowledgment": "next_turn_start",
    });
    assert_eq!(consumed, [&expected]);
    assert!(first_prompt(&steps).contains("(wrong file)\n\nOnly the first line."));
}
