use super::*;
use crate::database::Access;
use crate::fixtures::{self, World, clock, id};
use crate::limits::Limits;
use rstest::rstest;
use std::time::Duration;

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().map_or("accepted", |error| error.code())
}

fn names(store: &Store) -> Vec<String> {
    let listed = store.list().unwrap();
    listed.into_iter().map(|summary| summary.task_id.to_string()).collect()
}

// A store that took its last task took none ever again, since nothing is pruned (facts 2.2).
#[test]
fn a_full_store_takes_new_tasks_once_old_ones_are_put_away() {
    let world = World::new();
    let limits = Limits {
        tasks: 2,
        commands: 3,
        ..Limits::STORE
    };
    let store = Store::open_with(&world.path(), clock(), Access::Write, limits).unwrap();
    world.finished("a");
    world.finished("b");
    let refused = store.command(&fixtures::submit("s", "c", "/trees/c")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the limit of 2 tasks is reached: `coder task archive` puts finished tasks away, which then count no more"
    );
    let at = store.archive(&id("a")).unwrap();
    assert_eq!(store.archive(&id("a")).unwrap(), at);
    store.command(&fixtures::submit("s", "c", "/trees/c")).unwrap();
    assert_eq!(names(&store), ["b", "c"]);
    assert_eq!(store.list_all().unwrap().len(), 3);
    // Commands count with their tasks: one is left, and then none.
    store.command(&fixtures::correct("x-1", &id("c"), 1)).unwrap();
    assert_eq!(
        code(store.command(&fixtures::correct("x-2", &id("c"), 2))),
        "limit_exceeded"
    );
    assert_eq!(code(store.restore(&id("a"))), "limit_exceeded");
    store.archive(&id("b")).unwrap();
    store.command(&fixtures::correct("x-2", &id("c"), 2)).unwrap();
    assert_eq!(store.verify_all().unwrap(), []);
}

#[test]
fn what_is_put_away_is_shown_and_verified_as_before_and_takes_no_step() {
    let world = World::new();
    let task = world.finished("t");
    let bytes = fixtures::submit("submit-t", "t", "/trees/t");
    let (shown, history) = (world.store.show(&task).unwrap(), world.store.history(&task).unwrap());
    let receipt = world.store.command(&bytes).unwrap();
    world.store.archive(&task).unwrap();
    assert_eq!(world.store.show(&task).unwrap(), shown);
    assert_eq!(world.store.history(&task).unwrap(), history);
    assert_eq!(world.store.verify(&task).unwrap(), []);
    assert_eq!(world.store.command(&bytes).unwrap(), receipt);
    let refused = world.store.command(&fixtures::follow_up("f", &task, 4)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "task t does not take this step: it is archived; `coder task restore` takes it out again"
    );
    let owner = world.store.own(&task, Duration::ZERO).unwrap();
    assert_eq!(
        code(owner.record(&crate::Event::CheckIntent {}, None)),
        "invalid_transition"
    );
    drop(owner);
    world.store.restore(&task).unwrap();
    world.store.restore(&task).unwrap();
    world.store.command(&fixtures::follow_up("f", &task, 4)).unwrap();
    assert_eq!(names(&world.store), ["t"]);
}

#[test]
fn what_may_not_be_put_away() {
    let world = World::new();
    let queued = world.submit("queued");
    let running = world.submit("running");
    let _owner = world.running(&running);
    let checked = world.finished("checked");
    let owner = world.store.own(&checked, Duration::ZERO).unwrap();
    owner.record(&crate::Event::CheckIntent {}, None).unwrap();
    for task in [&queued, &running, &checked] {
        assert_eq!(code(world.store.archive(task)), "invalid_transition");
    }
    assert_eq!(code(world.store.archive(&id("absent"))), "not_found");
    assert_eq!(code(world.store.restore(&id("absent"))), "not_found");
}

#[rstest]
#[case::all(i64::MAX, &["cancelled", "done"])]
#[case::none(0, &[])]
fn which_tasks_are_settled(#[case] before: i64, #[case] expected: &[&str]) {
    let world = World::new();
    world.submit("queued");
    let cancelled = world.submit("cancelled");
    world.store.command(&fixtures::cancel("c", &cancelled, 1)).unwrap();
    world.finished("done");
    let away = world.finished("away");
    world.store.archive(&away).unwrap();
    let settled = world.store.settled_before(Timestamp(before)).unwrap();
    assert_eq!(settled.iter().map(TaskId::as_str).collect::<Vec<_>>(), expected);
}
