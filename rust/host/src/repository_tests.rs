use super::*;
use crate::testing::{World as Place, clock};
use coder_digest::{Digest, TaskId};
use coder_journal::{Execution, Status};
use serde_json::Value;

/// A grant for `task-1` on the worktree `tree`, with a conversation of one command.
fn grant(place: &Place, task: &Task) -> Value {
    let script = json!({
        "schema": "openagents.microcoder.script.v1",
        "turns": [{ "reply": {
            "reply": "", "ask": "none", "rationale": "", "commands": ["echo more >>file"], "view": [],
            "freeze_tests": false, "expand": [], "finished": true,
        } }],
    })
    .to_string();
    place.write("script.json", &script);
    json!({
        "schema": "openagents.coder.task-execution-grant.v1",
        "task_id": "task-1",
        "intent_digest": task.intent_digest,
        "expected_revision": 1,
        "expected_source_snapshot": null,
        "program": "/bin/bash",
        "arguments": [],
        "write_workspace": true,
        "stream_bytes": 65536,
        "memory_bytes": 536_870_912,
        "requirements": null,
        "adapter_configuration": {
            "schema": "openagents.microcoder.repository-config.v1",
            "provider": "scripted",
            "model": "model",
            "effort": null,
            "generation_endpoint": "in-process",
            "decision_endpoint": "in-process",
            "decision_model": "none",
            "acceptance": false,
            "route": "never",
            "knowledge": "off",
            "dollar_limit_micros": null,
            "expected_controller_digest": null,
            "script": place.path("script.json"),
            "script_digest": Digest::of(script.as_bytes()),
        },
    })
}

fn run(place: &Place, grant: &Value, mut watcher: impl FnMut(&Progress<'_>)) -> Result<Task, Error> {
    let grant = grant.to_string();
    let store = place.path("store");
    let controller = place.write("controller", "program");
    let run = GrantRun {
        grant: grant.as_bytes(),
        store: &store,
        clock: clock(),
        cancel: Cancel::new().unwrap(),
        environment: &|_| None,
        controller: &controller,
    };
    run_repository(run, &mut watcher)
}

fn place() -> (Place, Task) {
    let place = Place::new();
    place.repository();
    place.worktree("tree", None);
    let task = place.submit_on(&place.store(), "task-1", "Do.", &place.path("tree"), None);
    (place, task)
}

#[test]
fn a_workspace_that_changes_between_admission_and_the_first_effect_is_not_touched() {
    let (place, task) = place();
    let file = place.path("tree/file");
    let mut asked = 0;
    let watcher = |progress: &Progress<'_>| match progress {
        Progress::Admitted { .. } => std::fs::write(&file, "changed meanwhile\n").unwrap(),
        Progress::Asking { .. } => asked += 1,
        _ => {}
    };
    let task = run(&place, &grant(&place, &task), watcher).unwrap();
    let result = task.run.unwrap().result.unwrap();
    assert_eq!((task.status, task.execution), (Status::Finished, Execution::Failed));
    assert_eq!((result.ending.as_str(), asked), ("cancelled_or_host_refusal", 0));
    assert_eq!(place.read("tree/file"), "changed meanwhile\n");
    let trace = place.read("store/task-1.1.atif.jsonl");
    assert!(
        trace.contains("changed while it was admitted: nothing was run"),
        "{trace}"
    );
    assert!(!trace.contains("scripted_request"), "no model was asked");
}

#[test]
fn trap_p_the_trace_lists_instruction_files_that_are_not_captured() {
    let (place, _) = place();
    place.write("tree/CLAUDE.md", "Sing.");
    place.write("tree/inner/AGENTS.md", "Dance.");
    place.write("tree/AGENTS.md", "Be brief.");
    let store = place.store();
    let task = store.show(&TaskId::new("task-1").unwrap()).unwrap();
    let task = run(&place, &grant(&place, &task), |_| {}).unwrap();
    assert_eq!(task.execution, Execution::Finished);
    let trace = place.read("store/task-1.1.atif.jsonl");
    let admission = trace
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|record| record["step"]["extensions"].get("admission").is_some())
        .unwrap();
    let listed = json!({ "paths": ["CLAUDE.md", "inner/AGENTS.md"], "more": 0 });
    assert_eq!(admission["step"]["extensions"]["instructions_not_captured"], listed);
    assert_eq!(
        admission["step"]["message"],
        "Admitted. 2 instruction files are not captured: only AGENTS.md on the way to a target is."
    );
    assert!(!trace.contains("Sing.") && !trace.contains("Dance."));
}
