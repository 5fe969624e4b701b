//! A store whose disk is full in the middle of a run (report 23, trap 7): the run ends as the host's trouble and says so,
//! what was kept stays readable, and verification calls it incomplete. Needs a small file system, which only root mounts.

use crate::world::{Gate, World, is_root, reply};
use rstest::rstest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

struct SmallDisk(PathBuf);

#[expect(
    clippy::disallowed_methods,
    reason = "mount and umount are programs of the test's own set-up"
)]
fn program(name: &str, arguments: &[&str], path: &Path) -> bool {
    let status = std::process::Command::new(name).args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

impl SmallDisk {
    /// Mounts `mebibytes` at the world's `tasks`, if that is allowed.
    fn at(path: PathBuf, mebibytes: u64) -> Option<Self> {
        let options = format!("size={mebibytes}m,mode=0700");
        let mounted = is_root() && program("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], &path);
        mounted.then_some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        assert!(program("umount", &[], &self.0) || std::thread::panicking());
    }
}

#[rstest]
fn report_23_a_run_meets_a_full_disk(#[values(2, 3, 5, 8)] mebibytes: u64) {
    let world = World::new();
    let Some(_disk) = SmallDisk::at(world.directory("tasks"), mebibytes) else {
        println!("skipped: it must be root to mount a small tmpfs");
        return;
    };
    let tree = world.worktree();
    let loud = "echo second >>notes.txt; head -c 1500000 /dev/urandom";
    let replies: Vec<Value> = (0..6)
        .map(|_| reply(&[loud], false))
        .chain([reply(&[], true)])
        .collect();
    let prepared = world.prepare(&tree, &replies);
    let task = prepared.call().variable("MICROCODER_DISK_WAIT_SECONDS", "0").json();
    let result = &task["run"]["result"];
    assert_eq!(
        (&task["status"], &task["execution"], &result["ending"]),
        (&json!("finished"), &json!("failed"), &json!("disk_full"))
    );
    assert_eq!(
        (&result["output_incomplete"], &result["group_clear"]),
        (&json!(true), &json!(true))
    );
    let listed = world.task(&["list"]).json();
    assert_eq!(listed[0]["status"], "finished");
    let verification = world.task(&["verify", "task-1"]).run().json(1);
    assert_eq!(verification["verdict"], "incomplete", "{verification:#}");
    assert_eq!(world.task(&["show", "task-1"]).json(), task);
    let view = world.task(&["view", "task-1"]).json();
    assert!(view["evidence"]["total_steps"].as_u64().unwrap() > 3, "{view:#}");
}

/// Takes all the room that is left at `path`.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
}

/// A run waits for space for ten minutes, and while it waits it must be possible to stop it: the cancel itself lands in the
/// room that was held back, and the run ends at once.
#[test]
fn a_run_that_waits_for_space_can_be_stopped() {
    let world = World::new();
    let Some(_disk) = SmallDisk::at(world.directory("tasks"), 8) else {
        println!("skipped: it must be root to mount a small tmpfs");
        return;
    };
    let tree = world.worktree();
    let loud = "echo ready >gate; head -n 1 go; head -c 1500000 /dev/urandom";
    let prepared = world.prepare(&tree, &[reply(&[loud], false), reply(&[], true)]);
    let mut gate = Gate::at(&world.path("tree/gate"));
    let mut go = Gate::at(&world.path("tree/go"));
    let host = prepared.call().start();
    gate.wait(&host);
    fill(&world.path("tasks/filler"));
    go.open();
    let receipt = world.task(&["cancel", "task-1", "--reason", "no space"]).json();
    assert_eq!(receipt["status"], "cancel_requested");
    let task = host.wait().json(0);
    assert_eq!(
        (&task["status"], &task["execution"], &task["cancellation_reason"]),
        (&json!("finished"), &json!("stopped"), &json!("no space"))
    );
    let told = world.task(&["verify", "task-1"]).run();
    assert_ne!(told.json(told.status)["verdict"], "mismatch", "{}", told.stdout);
}
