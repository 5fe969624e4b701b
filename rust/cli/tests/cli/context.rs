//! What a run is told beside its prompt: scoped instruction files and frozen documents, exactly as the grant pins them.

use crate::checks::{SUITE, requirements};
use crate::documentation::blocks;
use crate::world::{Prepared, World, reply};
use coder_digest::Digest;
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;

/// A grant with a target, and the document of docs/grant.md.
fn prepared(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    let document = &blocks("markdown")[0];
    world.write("tree/AGENTS.md", "Be brief.\n");
    world.write("tree/inner/AGENTS.md", "Inside, be kind.\n");
    world.write("tree/CLAUDE.md", "Sing.\n");
    world.write("tree/recovery.md", document);
    let laid = world.suite("notes", SUITE, json!({}));
    let mut prepared = world.prepare(&tree, &[reply(&["printf 'second\\n' >>notes.txt"], true)]);
    let mut required = requirements(&[&laid]);
    required["instruction_targets"] = json!(["inner/file"]);
    required["knowledge"] = json!([{
        "id": "git.reflog-recovery",
        "version": 1,
        "digest": Digest::of(document.as_bytes()),
        "path": "recovery.md",
        "sources": ["reference"],
    }]);
    prepared.grant["requirements"] = required;
    prepared.grant["adapter_configuration"]["knowledge"] = json!("frozen-context");
    prepared
}

#[test]
fn the_model_is_told_what_is_pinned_and_the_record_says_the_same() {
    let world = World::new();
    let prepared = prepared(&world);
    let task = prepared.call().json();
    assert_eq!(task["execution"], "finished");
    let context = &task["run"]["admission"]["context"];
    let paths: Vec<&str> = ["instructions", "knowledge"]
        .iter()
        .flat_map(|name| context[name].as_array().unwrap())
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["AGENTS.md", "inner/AGENTS.md", "recovery.md"]);
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    for told in ["Be brief.", "Inside, be kind.", "Lost commits stay reachable"] {
        assert!(trace.contains(told), "{told}");
    }
    assert!(
        trace.contains(r#""instructions_not_captured":{"more":0,"paths":["CLAUDE.md"]}"#) && !trace.contains("Sing.")
    );
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[rstest]
#[case::changed("tree/recovery.md", "---\nid: other\n---\n", "knowledge", "is pinned")]
#[case::instructions("tree/inner/AGENTS.md", "\u{0}", "admitted", "")]
fn a_document_that_changed_refuses_and_an_instruction_file_does_not(
    #[case] file: &str,
    #[case] content: &str,
    #[case] code: &str,
    #[case] said: &str,
) {
    let world = World::new();
    let prepared = prepared(&world);
    world.write(file, content);
    let seen = prepared.call().run();
    if code == "admitted" {
        assert_eq!(seen.status, 0, "{}", seen.stderr);
        return;
    }
    let (found, message) = seen.refused(2);
    assert!(found == code && message.contains(said), "{found}: {message}");
}

#[rstest]
#[case::off(|grant: &mut Value| grant["adapter_configuration"]["knowledge"] = json!("off"), "grant_field")]
#[case::none(|grant: &mut Value| grant["requirements"]["knowledge"] = json!([]), "grant_field")]
#[case::own_source(|grant: &mut Value| grant["requirements"]["check_lineage"][0]["sources"] = json!(["task-1-17"]), "lineage")]
fn a_mode_and_an_inventory_that_disagree_refuse(#[case] change: fn(&mut Value), #[case] code: &str) {
    let world = World::new();
    let mut prepared = prepared(&world);
    change(&mut prepared.grant);
    let before = world.listing("tasks");
    assert_eq!(prepared.call().run().refused(2).0, code);
    assert_eq!(world.listing("tasks"), before);
    assert!(fs::exists(world.path("tree/notes.txt")).unwrap());
}
