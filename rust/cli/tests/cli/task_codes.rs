//! Each refusal of the task commands by its stable code: status 1, one error object, nothing printed. `store_busy` is in
//! `recover`, `read_only` in a file of its own. `reopen_required` is for who keeps a store open after a write whose fate is
//! open; a command opens it, writes once and ends, so it cannot meet it, and the journal's own tests show it.

use crate::world::{Gate, World, reply};
use coder_digest::SystemClock;
use coder_journal::{Ask, Store};
use rstest::rstest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

fn command(command: &str, task: &str, revision: Option<u64>, action: &Value) -> Value {
    json!({
        "schema": "openagents.coder.task-command.v1",
        "command_id": command,
        "task_id": task,
        "expected_revision": revision,
        "action": action,
    })
}

fn submit(name: &str, task: &str, workspace: &Path) -> Value {
    let intent = json!({
        "title": "T",
        "prompt": "P",
        "workspace": { "path": workspace, "source_revision": null },
        "configuration": { "adapter": "microcoder-repository", "model": crate::world::MODEL },
    });
    command(name, task, None, &json!({"type": "submit", "intent": intent}))
}

fn cancel(name: &str, task: &str, revision: u64) -> Value {
    command(name, task, Some(revision), &json!({"type": "cancel", "reason": "r"}))
}

/// A world whose store has `task-1`, and what sending `bytes` is refused with.
fn refused(bytes: impl Into<Vec<u8>>, verb: &str) -> (String, String) {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let before = world.listing("tasks");
    let refusal = world.task(&[verb, "--file", "-"]).input(bytes).run().refused(1);
    assert_eq!(world.listing("tasks"), before, "a refusal leaves the store as it was");
    refusal
}

#[rstest]
#[case::malformed("{".to_owned(), "cancel", "invalid_command")]
#[case::empty(String::new(), "submit", "invalid_command")]
#[case::twice(r#"{"schema":"openagents.coder.task-command.v1","schema":"x"}"#.to_owned(), "cancel", "invalid_command")]
#[case::unknown_field(cancel("c", "task-1", 1).to_string().replacen('{', r#"{"more":1,"#, 1), "cancel", "invalid_command")]
#[case::too_long(format!("{}{}", cancel("c", "task-1", 1), " ".repeat(65536)), "cancel", "invalid_command")]
#[case::same_names(cancel("task-1", "task-1", 1).to_string(), "cancel", "invalid_command")]
#[case::no_revision(command("c", "task-1", None, &json!({"type": "cancel", "reason": "r"})).to_string(), "cancel", "invalid_command")]
#[case::other_schema(cancel("c", "task-1", 1).to_string().replace("command.v1", "command.v2"), "cancel", "unsupported_schema")]
#[case::other_bytes(cancel("command-1", "task-1", 1).to_string(), "cancel", "command_conflict")]
#[case::stale(cancel("c", "task-1", 2).to_string(), "cancel", "revision_mismatch")]
#[case::no_task(cancel("c", "task-2", 1).to_string(), "cancel", "not_found")]
#[case::again(submit("c", "task-1", Path::new("/tree")).to_string(), "submit", "invalid_transition")]
#[case::not_ended(
    command("c", "task-1", Some(1), &json!({"type": "continue", "prompt": "p"})).to_string(), "continue", "invalid_transition"
)]
#[case::other_action(cancel("c", "task-1", 1).to_string(), "correct", "action_mismatch")]
fn a_command(#[case] bytes: String, #[case] verb: &str, #[case] code: &str) {
    let (found, message) = refused(bytes, verb);
    assert_eq!(found, code, "{message}");
}

#[test]
fn what_cannot_be_read() {
    let world = World::empty();
    let absent = world.text("absent.json");
    let (code, message) = world.task(&["cancel", "--file", &absent]).run().refused(1);
    assert_eq!(code, "read_command", "{message}");
    assert!(message.contains("absent.json"), "{message}");
    let (code, _) = world
        .coder(&["task", "cancel", "task-1", "--reason", "r"])
        .without("HOME")
        .run()
        .refused(1);
    assert_eq!(code, "configuration");
    let prompt = world.write("prompt", b"\xff");
    let arguments = [
        "correct",
        "task-1",
        "--reason",
        "r",
        "--prompt-file",
        prompt.to_str().unwrap(),
    ];
    assert_eq!(world.task(&arguments).run().refused(1).0, "read_prompt");
}

#[rstest]
#[case::open_to_others(|store: &Path| fs::set_permissions(store, fs::Permissions::from_mode(0o750)).unwrap(), "unsafe_path")]
#[case::open_file(
    |store: &Path| fs::set_permissions(store.join("journal.db"), fs::Permissions::from_mode(0o640)).unwrap(),
    "unsafe_path"
)]
#[case::link(
    |store: &Path| {
        let other = store.with_file_name("other");
        fs::rename(store, &other).unwrap();
        std::os::unix::fs::symlink(&other, store).unwrap();
    },
    "unsafe_path"
)]
#[case::second_name(
    |store: &Path| fs::hard_link(store.join("journal.db"), store.join("again")).unwrap(),
    "unsafe_path"
)]
#[case::cut(
    |store: &Path| fs::File::options().write(true).open(store.join("journal.db")).unwrap().set_len(5000).unwrap(),
    "corrupt_store"
)]
#[case::newer(
    |store: &Path| {
        let raw = rusqlite::Connection::open(store.join("journal.db")).unwrap();
        raw.pragma_update(None, "user_version", 99).unwrap();
    },
    "unsupported_schema"
)]
#[case::a_directory(
    |store: &Path| {
        fs::remove_file(store.join("journal.db")).unwrap();
        fs::create_dir(store.join("journal.db")).unwrap();
    },
    "unsafe_path"
)]
fn a_store(#[case] damage: fn(&Path), #[case] code: &str) {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    damage(&world.path("tasks"));
    let (found, message) = world.task(&["cancel", "task-1", "--reason", "r"]).run().refused(1);
    assert_eq!(found, code, "{message}");
}

#[test]
fn a_place_where_no_store_can_be() {
    let world = World::empty();
    world.write("file", "");
    let request = submit("c", "task-1", Path::new("/tree")).to_string();
    let call = world.coder(&["task", "submit", "--file", "-", "--store", &world.text("file/store")]);
    let (code, message) = call.input(request).run().refused(1);
    assert_eq!(code, "io", "{message}");
}

/// The whole bounds of a store: 1,024 tasks and 2,048 commands, and what makes room.
#[test]
fn a_store_that_is_full() {
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    };
    let path = home.path().join("store");
    let store = Store::open(&path, Arc::new(SystemClock)).unwrap();
    for number in 0..1024 {
        let task = format!("t-{number}");
        let request = submit(&format!("s-{number}"), &task, Path::new("/tree"));
        store.command(request.to_string().as_bytes()).unwrap();
        let reason = "r".to_owned();
        let cancel = Ask::Cancel { reason };
        store
            .ask(&format!("c-{number}").parse().unwrap(), &task.parse().unwrap(), &cancel)
            .unwrap();
    }
    let world = World::empty();
    let task = |arguments: &[&str]| {
        world
            .coder(&["task"])
            .arguments(arguments)
            .arguments(&["--store", path.to_str().unwrap()])
    };
    let again = ["continue", "t-0", "--prompt", "p"];
    let (code, message) = task(&again).run().refused(1);
    assert_eq!(
        (code.as_str(), message.as_str()),
        (
            "limit_exceeded",
            "the limit of 2048 accepted commands is reached: `coder task archive` puts finished tasks away, which then count \
             no more"
        )
    );
    task(&["archive", "t-1", "t-2"]).json();
    task(&again).json();
    let next = |name: &str| {
        let request = submit(&format!("s-{name}"), name, Path::new("/tree")).to_string();
        task(&["submit", "--file", "-"]).input(request)
    };
    next("new-1").json();
    next("new-2").json();
    let (code, message) = next("new-3").run().refused(1);
    assert_eq!(code, "limit_exceeded");
    assert!(message.starts_with("the limit of 1024 tasks is reached"), "{message}");
    assert_eq!(task(&["list"]).json().as_array().unwrap().len(), 1024);
}

#[test]
fn a_tree_that_another_task_holds() {
    let world = World::new();
    let tree = world.worktree();
    let first = world.prepare(
        &tree,
        &[
            reply(&["echo ready >gate; while :; do sleep 1000; done"], false),
            reply(&[], true),
        ],
    );
    let mut gate = Gate::at(&world.path("tree/gate"));
    let host = first.call().start();
    gate.wait(&host);
    let request = submit("command-2", "task-2", &tree).to_string();
    world.task(&["submit", "--file", "-"]).input(request).json();
    let mut grant = first.grant.clone();
    grant["task_id"] = json!("task-2");
    grant["intent_digest"] = world.task(&["show", "task-2"]).json()["intent_digest"].clone();
    let (code, message) = first.call_with(grant.to_string()).run().refused(2);
    assert_eq!(
        (code.as_str(), message),
        (
            "workspace_busy",
            format!(
                "task task-1 still reserves {0}, which overlaps the tree of task task-2",
                tree.display()
            )
        )
    );
    world.task(&["cancel", "task-1", "--reason", "r"]).json();
    host.wait().json(0);
}
