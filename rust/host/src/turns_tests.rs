use super::*;
use crate::testing::World;
use serde_json::{Value, json};

/// A task with one earlier run for each of `runs`, admitted at those revisions, and these other prompts.
fn task(world: &World, runs: &[u64], corrections: &Value, follow_ups: &Value) -> Task {
    let mut task = serde_json::to_value(world.submit(&world.store(), "task-1", "Prompt of the intent.")).unwrap();
    let run = |revision: &u64| {
        json!({
            "epoch": 1,
            "revision": revision,
            "admission": {
                "grant": {},
                "grant_digest": coder_digest::Digest::of(b"grant"),
                "grant_request": "{}",
                "workspace": "/tree",
                "source_revision": null,
                "source_snapshot": coder_digest::Digest::of(b"source").hex(),
                "program_digest": coder_digest::Digest::of(b"program"),
                "adapter": "microcoder-repository",
                "network": "network_namespace_isolated",
                "read_scope": "workspace_and_system",
                "authority": "local_os_user",
                "trace_file": "none.jsonl",
                "context": null,
            },
        })
    };
    task["earlier"] = runs.iter().map(run).collect();
    task["corrections"] = corrections.clone();
    task["follow_ups"] = follow_ups.clone();
    serde_json::from_value(task).unwrap()
}

fn corrections(revisions: &[u64]) -> Value {
    let one = |revision: &u64| json!({ "revision": revision, "prompt": format!("Corrected at {revision}."), "reason": "changed my mind" });
    revisions.iter().map(one).collect()
}

fn follow_ups(revisions: &[u64]) -> Value {
    let one = |revision: &u64| json!({ "revision": revision, "prompt": format!("Asked at {revision}.") });
    revisions.iter().map(one).collect()
}

#[test]
fn a_first_turn_is_told_its_prompt_alone() {
    let world = World::new();
    let task = task(&world, &[], &json!([]), &json!([]));
    let before = Before::of(&task, &world.path("store"));
    assert_eq!(before, Before::default());
    assert_eq!(before.prompt(task.prompt()), "Prompt of the intent.");
}

#[test]
fn a_corrected_prompt_is_taken_up_and_not_said_twice() {
    let world = World::new();
    let task = task(&world, &[], &corrections(&[2, 3]), &json!([]));
    let before = Before::of(&task, &world.path("store"));
    assert_eq!(before.corrections.len(), 2);
    assert_eq!(
        before.prompt(task.prompt()),
        "Earlier in this task, oldest first:\n\n## Then the user corrected the request (changed my mind)\n\n\
         Corrected at 2.\n\n## Now the user asks\n\nCorrected at 3."
    );
}

#[test]
fn a_later_turn_is_told_the_earlier_ones_and_the_corrections_no_run_has_seen() {
    let world = World::new();
    // Admitted at 3, corrected at 4 and 6 while it ran, continued at 8.
    let task = task(&world, &[3], &corrections(&[2, 4, 6]), &follow_ups(&[8]));
    let before = Before::of(&task, &world.path("store"));
    let revisions: Vec<u64> = before.corrections.iter().map(|one| one.revision).collect();
    assert_eq!(revisions, [4, 6]);
    assert_eq!(
        before.prompt(task.prompt()),
        "Earlier in this task, oldest first:\n\n## Turn 1: the user asked\n\nCorrected at 2.\n\n\
         ## Turn 1: you replied\n\n(no reply was kept)\n\n\
         ## Then the user corrected the request (changed my mind)\n\nCorrected at 4.\n\n\
         ## Then the user corrected the request (changed my mind)\n\nCorrected at 6.\n\n\
         ## Now the user asks\n\nAsked at 8."
    );
}

#[test]
fn eight_turns_are_carried_each_cut() {
    let world = World::new();
    let runs: Vec<u64> = (1..=20).map(|turn| turn * 10).collect();
    let mut asked = follow_ups(&(1..=20).map(|turn| turn * 10 + 5).collect::<Vec<_>>());
    asked[17]["prompt"] = json!("é".repeat(4000));
    let task = task(&world, &runs, &json!([]), &asked);
    let before = Before::of(&task, &world.path("store"));
    let numbers: Vec<usize> = before.turns.iter().map(|turn| turn.number).collect();
    assert_eq!(numbers, (13..=20).collect::<Vec<_>>());
    let cut = before.turns.iter().find(|turn| turn.number == 19).unwrap();
    assert_eq!(cut.prompt, format!("{}\n[cut]", "é".repeat(2048)));
}
