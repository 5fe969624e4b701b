//! Tests of `group`: the tables on described machines, and leaves on this one where it lets this user make them.

use super::place::{Controller, Place};
use super::*;
use std::os::unix::fs::PermissionsExt;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A session of systemd's: the user's manager hands its controllers down, the session's scope does not.
#[test]
fn a_delegated_group_of_version_2_is_the_first_that_hands_down_what_is_needed() {
    let machine = tempfile::tempdir().unwrap();
    let top = machine.path().to_str().unwrap();
    let mounts = format!("41 31 0:38 / {top} rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    let groups = "0::/user.slice/app.slice/shell.scope\n";
    let own = machine.path().join("user.slice/app.slice/shell.scope");
    write(&own.join("cgroup.subtree_control"), "");
    write(&own.join("cgroup.procs"), "");
    assert_eq!(Place::described(groups, &mounts), None);
    let slice = own.parent().unwrap();
    write(&slice.join("cgroup.procs"), "");
    write(&slice.join("cgroup.subtree_control"), "cpu memory pids\n");
    let place = Place::described(groups, &mounts).unwrap();
    assert_eq!(place.kind(), Group::CgroupV2);
    assert_eq!(place.parent(Controller::Memory), Some(slice));
    assert_eq!(place.parents().collect::<Vec<_>>(), [slice]);
    // Without the right to move processes there it is of no use.
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(slice.join("cgroup.procs"), fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(Place::described(groups, &mounts), None);
    }
}

#[test]
fn version_1_is_this_processs_own_group_of_each_controller() {
    let machine = tempfile::tempdir().unwrap();
    let top = machine.path().to_str().unwrap();
    let mounts = format!(
        "35 31 0:32 / {top}/memory rw - cgroup cgroup rw,memory\n\
         39 31 0:36 /docker/box {top}/pids rw - cgroup cgroup rw,pids\n\
         41 31 0:38 / {top}/unified rw - cgroup2 cgroup2 rw\n"
    );
    let groups = "8:pids:/docker/box/inner\n4:memory:/some/where\n0::/\n";
    fs::create_dir_all(machine.path().join("memory/some/where")).unwrap();
    fs::create_dir_all(machine.path().join("pids/inner")).unwrap();
    fs::create_dir_all(machine.path().join("unified")).unwrap();
    let place = Place::described(groups, &mounts).unwrap();
    assert_eq!(place.kind(), Group::CgroupV1);
    let memory = machine.path().join("memory/some/where");
    assert_eq!(place.parent(Controller::Memory), Some(memory.as_path()));
    let pids = machine.path().join("pids/inner");
    assert_eq!(place.parents().collect::<Vec<_>>(), [memory.as_path(), pids.as_path()]);
    assert_eq!(place.clone().only(false, false), None);
    assert_eq!(place.only(false, true).unwrap().parent(Controller::Memory), None);
}

#[test]
fn a_leaf_is_removed_when_dropped_and_by_the_next_start_when_its_owner_was_killed() {
    let wanted = Wanted {
        memory: Some(64 << 20),
        pids: Some(16),
    };
    let Some((wanted, _)) = wanted.counted() else {
        return;
    };
    let leaf = Leaf::create(wanted).unwrap();
    let paths: Vec<PathBuf> = leaf
        .directories
        .iter()
        .map(|directory| directory.path.clone())
        .collect();
    let parent = paths[0].parent().unwrap();
    // As after `kill -9`: the lock is gone, the directory is not.
    let orphan = parent.join(format!("{PREFIX}orphan-{}", std::process::id()));
    fs::create_dir(&orphan).unwrap();
    sweep(parent);
    assert!(!orphan.exists());
    assert!(paths.iter().all(|path| path.exists()), "a live leaf was swept");
    assert_eq!(leaf.spent(), Spent::default());
    drop(leaf);
    assert!(!paths.iter().any(|path| path.exists()));
}
