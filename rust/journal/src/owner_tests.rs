use super::*;
use crate::fixtures::{self, World, admitted, ended, id, result};
use crate::state::Checks;
use rstest::rstest;

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().map_or("accepted", |error| error.code())
}

#[test]
fn a_task_has_one_owner_at_a_time() {
    let world = World::new();
    let task = world.submit("t");
    assert_eq!(world.store.liveness(&task).unwrap(), Liveness::Free);
    let owner = world.store.own(&task, Duration::ZERO).unwrap();
    // The same process, another opening: the lock belongs to the open file, not to the process.
    assert_eq!(code(world.again().own(&task, Duration::ZERO)), "store_busy");
    assert_eq!(world.again().liveness(&task).unwrap(), Liveness::Owned);
    assert_eq!((owner.task(), owner.store().path()), (&task, world.store.path()));
    drop(owner);
    assert_eq!(world.store.liveness(&task).unwrap(), Liveness::Free);
    world.store.own(&task, Duration::ZERO).unwrap();
}

// Trap 5: somebody who only looks must not be taken for an owner.
#[test]
fn looking_at_the_lock_refuses_no_owner() {
    let world = World::new();
    let task = world.submit("t");
    drop(world.store.own(&task, Duration::ZERO).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    world.store.liveness(&task).unwrap();
                }
            });
        }
        let answers: Vec<_> = (0..20)
            .map(|_| code(world.store.own(&task, Duration::from_secs(30))))
            .collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(answers, ["accepted"; 20]);
    });
}

#[test]
fn the_next_owner_waits_for_the_present_one() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.store.own(&task, Duration::ZERO).unwrap();
    let store = world.again();
    let waiting = std::thread::spawn({
        let task = task.clone();
        move || code(store.own(&task, Duration::from_secs(60)))
    });
    drop(owner);
    assert_eq!(waiting.join().unwrap(), "accepted");
}

#[test]
fn a_lock_that_was_lost_is_never_made_anew() {
    let world = World::new();
    let task = world.finished("t");
    std::fs::remove_file(world.path().join("owner-t.lock")).unwrap();
    assert_eq!(code(world.store.own(&task, Duration::ZERO)), "corrupt_store");
    assert_eq!(code(world.store.liveness(&task)), "corrupt_store");
    assert!(!world.path().join("owner-t.lock").exists());
}

#[test]
fn a_task_at_fault_gets_no_owner() {
    let world = World::new();
    let task = world.submit("t");
    let raw = Connection::open(world.path().join("journal.db")).unwrap();
    raw.execute("UPDATE tasks SET title = 'other'", []).unwrap();
    let error = world.store.own(&task, Duration::ZERO).unwrap_err();
    assert_eq!(error.code(), "corrupt_store");
    assert!(error.to_string().contains("state"), "{error}");
}

#[test]
fn an_event_may_insist_on_the_revision_it_saw() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.store.own(&task, Duration::ZERO).unwrap();
    let shown = world.store.show(&task).unwrap();
    world.store.command(&fixtures::correct("c", &task, 1)).unwrap();
    assert_eq!(code(owner.record(&admitted(&shown), Some(1))), "revision_mismatch");
    assert_eq!(code(owner.record(&admitted(&shown), None)), "invalid_transition");
    let shown = world.store.show(&task).unwrap();
    assert_eq!(owner.record(&admitted(&shown), Some(2)).unwrap().revision, 3);
}

fn admit(world: &World, task: &str, path: &str) -> Result<Owner, Error> {
    world
        .store
        .command(&fixtures::submit(&format!("submit-{task}"), task, path))?;
    let owner = world.store.own(&id(task), Duration::ZERO)?;
    let shown = world.store.show(&id(task))?;
    owner.record(&admitted(&shown), None)?;
    Ok(owner)
}

#[rstest]
#[case::equal("/trees/a", "workspace_busy")]
#[case::same_with_slash("/trees/a/", "workspace_busy")]
#[case::inside("/trees/a/b", "workspace_busy")]
#[case::around("/trees", "workspace_busy")]
#[case::root("/", "unsafe_path")]
#[case::beside("/trees/ab", "accepted")]
#[case::elsewhere("/other/a", "accepted")]
fn a_running_task_keeps_its_tree(#[case] path: &str, #[case] expected: &str) {
    let world = World::new();
    let _owner = admit(&world, "first", "/trees/a").unwrap();
    let second = admit(&world, "second", path);
    if let Err(Error::WorkspaceBusy { task, holder, tree }) = &second {
        assert_eq!(
            (task, holder, tree),
            (&id("second"), &id("first"), &PathBuf::from("/trees/a"))
        );
    }
    assert_eq!(code(second), expected);
    assert_eq!(world.store.verify_all().unwrap(), []);
}

#[test]
fn checks_keep_the_tree_too() {
    let world = World::new();
    let first = admit(&world, "first", "/trees/a").unwrap();
    first.record(&ended(result()), None).unwrap();
    let second = admit(&world, "second", "/trees/a/b").unwrap();
    assert_eq!(code(first.record(&Event::CheckIntent {}, None)), "workspace_busy");
    second.record(&ended(result()), None).unwrap();
    assert_eq!(
        first.record(&Event::CheckIntent {}, None).unwrap().checks,
        Checks::Running
    );
    assert_eq!(code(second.record(&Event::CheckIntent {}, None)), "workspace_busy");
    assert_eq!(code(admit(&world, "third", "/trees/a")), "workspace_busy");
}

#[rstest]
#[case::store_inside("")]
#[case::workspace_inside("store/tree")]
#[case::equal("store")]
fn store_and_workspace_stay_apart(#[case] path: &str) {
    let world = World::new();
    let path = world.home().canonicalize().unwrap().join(path);
    let refused = admit(&world, "t", path.to_str().unwrap());
    assert_eq!(code(refused), "unsafe_path");
}

// Trap c: the watch must see a cancel that another process committed, without replaying the task.
#[test]
fn a_cancellation_is_seen_by_the_owner() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.running(&task);
    assert!(!owner.cancellation_requested().unwrap());
    world.submit("unrelated");
    assert!(!owner.cancellation_requested().unwrap());
    world.again().command(&fixtures::cancel("c", &task, 3)).unwrap();
    assert!(owner.cancellation_requested().unwrap());
    assert!(owner.cancellation_requested().unwrap());
    owner.record(&ended(result()), None).unwrap();
    assert!(!owner.cancellation_requested().unwrap());
}

#[test]
fn an_owner_that_gives_up_leaves_the_store_as_it_was() {
    let world = World::new();
    let task = world.submit("t");
    let lock = world.path().join("owner-t.lock");
    world.store.own(&task, Duration::ZERO).unwrap().abandon();
    assert!(!lock.exists());
    assert_eq!(world.store.liveness(&task).unwrap(), Liveness::Free);
    // The lock of a task that was run is part of its history and stays.
    let task = world.finished("ran");
    world.store.own(&task, Duration::ZERO).unwrap().abandon();
    assert!(world.path().join("owner-ran.lock").exists());
    assert_eq!(code(world.store.own(&task, Duration::ZERO)), "accepted");
}

#[test]
fn a_lock_whose_name_went_away_makes_nobody_an_owner() {
    let world = World::new();
    let task = world.submit("t");
    std::thread::scope(|scope| {
        let contenders: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let store = world.again();
                    for _ in 0..20 {
                        let owner = store.own(&task, Duration::from_secs(60)).unwrap();
                        // Whoever owns it finds the name taken by itself, and nobody else gets in.
                        assert_eq!(store.liveness(&task).unwrap(), Liveness::Owned);
                        owner.abandon();
                    }
                })
            })
            .collect();
        for contender in contenders {
            contender.join().unwrap();
        }
    });
    assert!(!world.path().join("owner-t.lock").exists());
}
