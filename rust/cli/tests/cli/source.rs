//! What a host does with a task and a workspace that change while it waits for the right to run them.

use crate::world::{Prepared, Started, World, reply, wait_readable};
use rustix::fs::inotify;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;

/// Another owner of the task, which is let go by dropping it.
struct Owner {
    _lock: File,
}

/// Starts a host that has seen task and workspace, and waits for the owner that the test is.
fn waiting(prepared: &Prepared<'_>) -> (Started, Owner) {
    let path = prepared.world.path("tasks/owner-task-1.lock");
    let lock = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    lock.lock().unwrap();
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, &path, inotify::WatchFlags::OPEN).unwrap();
    let host = prepared.call().start();
    wait_readable(&watch, "the host never asked for the task");
    (host, Owner { _lock: lock })
}

fn prepared(world: &World) -> Prepared<'_> {
    let tree = world.worktree();
    world.prepare(&tree, &[reply(&["echo second >>notes.txt"], false), reply(&[], true)])
}

#[test]
fn a_workspace_that_changed_while_the_host_waited_is_taken_as_it_then_is() {
    let world = World::new();
    let prepared = prepared(&world);
    let (host, owner) = waiting(&prepared);
    world.write("tree/notes.txt", "changed meanwhile\n");
    drop(owner);
    let task = host.wait().json(0);
    assert_eq!(task["run"]["result"]["ending"], "model_finished");
    assert_eq!(world.read("tree/notes.txt"), "changed meanwhile\nsecond\n");
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
}

#[test]
fn a_task_that_was_cancelled_meanwhile_is_refused() {
    let world = World::new();
    let prepared = prepared(&world);
    let (host, owner) = waiting(&prepared);
    prepared.cancel();
    drop(owner);
    let (code, message) = host.wait().refused(2);
    assert_eq!(code, "not_queued", "{message}");
    assert_eq!(world.read("tree/notes.txt"), "first\n");
    assert!(!world.path("tasks/task-1.1.atif.jsonl").exists());
}
