use super::*;
use crate::fixtures::{World, id};
use std::time::Duration;

#[test]
fn an_owned_task_is_not_kept_from_its_owner() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.running(&task);
    assert!(world.again().keep_unowned(&task).unwrap().is_none());
    drop(owner);
    let unowned = world.store.keep_unowned(&task).unwrap().unwrap();
    assert_eq!(
        world.again().own(&task, Duration::ZERO).unwrap_err().code(),
        "store_busy"
    );
    // A lock that was used stays: without it the store would be a damaged one.
    assert!(!unowned.remove_unused_lock().unwrap());
    drop(unowned);
    world.again().own(&task, Duration::ZERO).unwrap();
    assert_eq!(world.store.verify(&task).unwrap(), []);
}

#[test]
fn only_locks_that_were_never_used_are_listed_and_removed() {
    let world = World::new();
    let used = world.finished("used");
    for name in ["refused", "owned"] {
        let task = world.submit(name);
        // A grant that was refused after the task was owned leaves such a lock.
        drop(world.store.own(&task, Duration::ZERO).unwrap());
    }
    let owner = world.store.own(&id("owned"), Duration::ZERO).unwrap();
    std::fs::write(world.path().join("owner-nobody.lock"), "").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(world.path().join("owner-nobody.lock"), mode).unwrap();
    let unused = world.store.unused_locks().unwrap();
    assert_eq!(unused, [id("nobody"), id("owned"), id("refused")]);
    let removed: Vec<_> = unused
        .iter()
        .filter_map(|task| world.store.keep_unowned(task).unwrap())
        .map(|unowned| unowned.remove_unused_lock().unwrap())
        .collect();
    assert_eq!(removed, [true, true]);
    assert!(world.path().join(format!("owner-{used}.lock")).exists());
    assert_eq!(world.store.unused_locks().unwrap(), [id("owned")]);
    drop(owner);
    assert_eq!(world.store.verify_all().unwrap(), []);
}

/// Whoever opened the file before it was removed must not believe to hold the lock: a second owner would hold the new one.
#[test]
fn a_lock_removed_while_somebody_waits_for_it_is_made_anew() {
    let world = World::new();
    let task = world.submit("t");
    drop(world.store.own(&task, Duration::ZERO).unwrap());
    for _ in 0..50 {
        let unowned = world.store.keep_unowned(&task).unwrap().unwrap();
        let other = world.again();
        let waiting = std::thread::spawn({
            let task = task.clone();
            move || other.own(&task, Duration::from_secs(60)).unwrap()
        });
        assert!(unowned.remove_unused_lock().unwrap());
        drop(unowned);
        let owner = waiting.join().unwrap();
        let refused = world.again().own(&task, Duration::ZERO).unwrap_err();
        assert_eq!(refused.code(), "store_busy");
        drop(owner);
    }
}

#[test]
fn keeping_a_task_unowned_leaves_no_lock_behind() {
    let world = World::new();
    let task = world.submit("t");
    let unowned = world.store.keep_unowned(&task).unwrap().unwrap();
    assert_eq!(
        world.again().own(&task, Duration::ZERO).unwrap_err().code(),
        "store_busy"
    );
    drop(unowned);
    assert!(!world.path().join("owner-t.lock").exists());
    world.store.own(&task, Duration::ZERO).unwrap();
}

#[test]
fn a_reader_keeps_nobody_from_anything() {
    let world = World::new();
    let task = world.submit("t");
    let reader = Store::open_read_only(&world.path(), crate::fixtures::clock()).unwrap();
    assert_eq!(reader.keep_unowned(&task).unwrap_err().code(), "read_only");
}
