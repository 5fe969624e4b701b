use super::*;
use crate::testing::World;
use std::time::Duration;

fn id(name: &str) -> TaskId {
    TaskId::new(name).unwrap()
}

#[test]
fn a_place_goes_with_its_run_and_what_is_in_use_stays() {
    let world = World::new();
    let store = world.path("store");
    let first = ScratchPlace::create(&store, &id("task-1")).unwrap();
    let second = ScratchPlace::create(&store, &id("task-2")).unwrap();
    assert!(first.path().is_dir() && second.path().is_dir());
    drop(first);
    assert!(!store.join("scratch/task-1").exists() && second.path().is_dir());
    let scratch = Scratch::create(second.path()).unwrap();
    let kept = scratch.path().to_owned();
    drop(second);
    assert!(kept.is_dir());
    drop(scratch);
    drop(ScratchPlace::create(&store, &id("task-2")).unwrap());
    assert!(!store.join("scratch").exists());
}

#[test]
fn leftovers_go_when_their_owner_is_gone_and_nothing_else_does() {
    let world = World::new();
    let store = world.store();
    for task in ["owned", "killed"] {
        world.submit(&store, task, "Fix it.");
    }
    let owner = store.own(&id("owned"), Duration::ZERO).unwrap();
    for name in ["owned/a", "killed/a", "unknown/a", "not a task/a"] {
        let file = world.write(&format!("store/scratch/{name}/home/left"), "left");
        std::fs::set_permissions(
            file.parent().unwrap(),
            std::os::unix::fs::PermissionsExt::from_mode(0o500),
        )
        .unwrap();
    }
    scratch(&store);
    let left = |name: &str| world.path(&format!("store/scratch/{name}")).exists();
    assert_eq!(
        ["owned", "killed", "unknown", "not a task"].map(left),
        [true, false, true, true]
    );
    assert_eq!(own(&store, &id("owned"), &Git::find().unwrap()), []);
    assert!(!left("owned"));
    world.write("store/scratch/owned/a/home/left", "left");
    drop(owner);
    assert_eq!(recover(&store, &Git::find().unwrap()), []);
    assert!(!left("owned"));
}
