//! What docs/grant.md shows is what a person can copy: submitted, shown, granted and read as written.

use crate::world::World;
use coder_host::{Grant, Work};
use serde_json::{Value, json};
use std::fs;

/// The blocks of one language, in order.
pub fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grant.md")).unwrap();
    let mut found = Vec::new();
    for part in page.split(&format!("```{language}\n")).skip(1) {
        found.push(part.split("```").next().unwrap().to_owned());
    }
    found
}

#[test]
fn the_task_and_the_grant_of_the_page_fit_each_other() {
    let [submit, grant, ..] = &blocks("json")[..] else {
        panic!("a task and a grant")
    };
    let world = World::empty();
    world.write("submit.json", submit);
    world.write("grant.json", grant);
    world.task(&["submit", "--file", &world.text("submit.json")]).json();
    let shown = world.task(&["show", "fix-parser"]).json();
    let written: Value = serde_json::from_str(grant).unwrap();
    assert_eq!(written["intent_digest"], shown["intent_digest"]);
    assert_eq!(written["expected_revision"], shown["revision"]);
    // Everything the grant says holds; only the worktree of the page is not there.
    let (grant, store) = (world.text("grant.json"), world.text("tasks"));
    let seen = world
        .microcoder(&["repository", "--grant", &grant, "--store", &store])
        .run();
    let (code, message) = seen.refused(2);
    assert_eq!(code, "io");
    assert!(message.contains("/home/me/worktrees/parser"), "{message}");
}

#[test]
fn the_route_and_the_container_of_the_page_are_taken_as_written() {
    let blocks: Vec<Value> = blocks("json")
        .iter()
        .map(|block| serde_json::from_str(block).unwrap())
        .collect();
    let [_, grant, route, container] = &blocks[..] else {
        panic!("a task, a grant, a route and a container")
    };
    let mut grant = grant.clone();
    grant["adapter_configuration"]["fallbacks"] = json!([route]);
    grant["adapter_configuration"]["container"] = container.clone();
    let Work::Repository(read) = Grant::parse(grant.to_string().as_bytes()).unwrap().work else {
        panic!("a run")
    };
    let routes: Vec<&str> = read.routes().map(|route| route.provider().as_str()).collect();
    assert_eq!(routes, ["openai", "claude"]);
    assert_eq!(
        read.container.map(|container| (container.uid, container.gid)),
        Some((501, 20))
    );
}
