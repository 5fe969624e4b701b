//! A store on media that nothing can be written to: looking works where that is right, everything else is refused and says what
//! to do. Needs a mount of its own, which only root may make.

use crate::world::{World, is_root, reply};
use coder_digest::SystemClock;
use coder_journal::Store;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

struct Media(PathBuf);

#[expect(
    clippy::disallowed_methods,
    reason = "mount and umount are programs of the test's own set-up"
)]
fn program(name: &str, arguments: &[&str]) -> bool {
    let status = std::process::Command::new(name).args(arguments).status();
    status.is_ok_and(|status| status.success())
}

impl Media {
    /// Shows `path` to itself as read-only, if that is allowed.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.to_str().unwrap();
        let mounted = is_root() && program("mount", &["--bind", name, name]);
        if mounted {
            assert!(program("mount", &["-o", "remount,bind,ro", name]));
        }
        mounted.then_some(Self(path))
    }
}

impl Drop for Media {
    fn drop(&mut self) {
        assert!(program("umount", &[self.0.to_str().unwrap()]) || std::thread::panicking());
    }
}

#[test]
fn a_store_that_was_put_away_is_looked_at_and_takes_nothing() {
    let world = World::new();
    let prepared = world.prepare(&world.worktree(), &[reply(&["echo second >>notes.txt"], true)]);
    prepared.call().json();
    let shown = world.task(&["show", "task-1"]).json();
    let Some(_media) = Media::at(world.path("tasks")) else {
        return;
    };
    assert_eq!(world.task(&["show", "task-1"]).json(), shown);
    assert_eq!(world.task(&["verify", "task-1"]).json()["verdict"], "verified");
    assert_eq!(world.task(&["list"]).json()[0]["task_id"], "task-1");
    let (code, message) = world
        .task(&["correct", "task-1", "--prompt", "Other.", "--reason", "why"])
        .run()
        .refused(1);
    let store = world.path("tasks");
    assert_eq!(
        (code.as_str(), message),
        (
            "read_only",
            format!(
                "the store {} can only be looked at: nothing can be written there",
                store.display()
            )
        )
    );
}

/// Records that still lie in the log need an index beside it, which nobody can make here.
#[test]
fn a_store_with_records_in_its_log_is_refused_with_what_to_do() {
    let world = World::new();
    world.prepare(&world.path("repo"), &[reply(&[], true)]);
    let open = Store::open(&world.path("tasks"), Arc::new(SystemClock)).unwrap();
    let name = coder_digest::Identifier::new("cancel-1").unwrap();
    let task = coder_digest::TaskId::new("task-1").unwrap();
    open.cancel_now(&name, &task, "no").unwrap();
    let copy = world.directory("copy");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        fs::copy(world.path("tasks").join(name), copy.join(name)).unwrap();
    }
    drop(open);
    let Some(_media) = Media::at(copy) else {
        println!("skipped: it must be root to mount");
        return;
    };
    for verb in [
        &["list"][..],
        &["show", "task-1"],
        &["view", "task-1"],
        &["verify", "task-1"],
    ] {
        let store = world.text("copy");
        let call = world.coder(&[&["task"], verb, &["--store", &store]].concat());
        let (code, message) = call.run().refused(1);
        assert_eq!(code, "read_only");
        assert!(
            message.contains("copy the whole store to a writable place"),
            "{message}"
        );
    }
}
