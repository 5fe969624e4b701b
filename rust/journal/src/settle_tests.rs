use super::*;
use crate::fixtures::{self, World, ended, result};
use crate::state::Execution;

fn gone(_: &Task) -> Remains {
    Remains {
        cleanup: Cleanup::ProvedClear {
            how: "control group empty".into(),
        },
        trace_digest: Some(Digest::of(b"half a trace")),
    }
}

fn unknown(_: &Task) -> Remains {
    Remains {
        cleanup: Cleanup::Unknown,
        trace_digest: None,
    }
}

fn not_asked(_: &Task) -> Remains {
    panic!("nothing to inspect")
}

/// A task whose owner went away in the middle of its run.
fn abandoned(world: &World) -> TaskId {
    let task = world.submit("t");
    drop(world.running(&task));
    task
}

#[test]
fn nothing_open_is_left_alone() {
    let world = World::new();
    let task = world.submit("q");
    let shown = world.store.show(&task).unwrap();
    let settled = world.store.settle(&task, not_asked).unwrap();
    assert_eq!(settled, Settled::NothingOpen(Box::new(shown)));
    let task = world.finished("t");
    let shown = world.store.show(&task).unwrap();
    assert_eq!(world.store.recover(&task, not_asked).unwrap(), shown);
}

#[test]
fn a_live_owner_is_left_alone() {
    let world = World::new();
    let task = world.submit("t");
    let _owner = world.running(&task);
    assert_eq!(world.again().settle(&task, not_asked).unwrap(), Settled::OwnerAlive);
    let refused = world.again().recover(&task, not_asked).unwrap_err();
    assert_eq!(refused.code(), "store_busy");
}

// Trap 1: a killed owner left its task unknown and its tree reserved for ever.
#[test]
fn a_run_proved_gone_is_ended_and_frees_its_tree() {
    let world = World::new();
    let task = abandoned(&world);
    let Settled::Closed(closed) = world.store.settle(&task, gone).unwrap() else {
        panic!("not closed");
    };
    assert_eq!((closed.status, closed.execution), (Status::Finished, Execution::Failed));
    assert!(!closed.reserves_tree());
    let expected = RunResult {
        ending: "owner_process_ended".into(),
        exit_code: None,
        stop_requested: false,
        cleanup: Some("control group empty".into()),
        elapsed_ms: None,
        trace_digest: Some(Digest::of(b"half a trace")),
        candidate_snapshot: None,
        output_incomplete: true,
        ..result()
    };
    assert_eq!(closed.run.unwrap().result, Some(expected));
    assert_eq!(world.store.verify(&task).unwrap(), []);
}

// Trap i: a free lock alone does not prove that the processes of a run are gone.
#[test]
fn a_run_not_proved_gone_stays_unknown_until_it_is() {
    let world = World::new();
    let task = abandoned(&world);
    let Settled::Unknown(shown) = world.store.settle(&task, unknown).unwrap() else {
        panic!("not unknown");
    };
    assert_eq!((shown.status, shown.execution), (Status::Unknown, Execution::Unknown));
    assert!(shown.reserves_tree());
    let again = world.store.settle(&task, unknown).unwrap();
    assert_eq!(again, Settled::Unknown(shown.clone()));
    let closed = world.store.recover(&task, gone).unwrap();
    assert_eq!((closed.status, closed.revision), (Status::Finished, shown.revision + 1));
    assert_eq!(world.store.verify(&task).unwrap(), []);
}

#[test]
fn a_run_that_was_asked_to_stop_ends_as_stopped() {
    let world = World::new();
    let task = abandoned(&world);
    world.store.command(&fixtures::cancel("c", &task, 3)).unwrap();
    world.store.settle(&task, unknown).unwrap();
    let closed = world.store.recover(&task, gone).unwrap();
    assert_eq!(
        (closed.status, closed.execution),
        (Status::Finished, Execution::Stopped)
    );
}

#[test]
fn a_run_whose_own_result_was_not_clear_stays_unknown() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.running(&task);
    let not_clear = RunResult {
        group_clear: false,
        ..result()
    };
    let shown = owner.record(&ended(not_clear), None).unwrap();
    drop(owner);
    let settled = world.store.settle(&task, not_asked).unwrap();
    assert_eq!(settled, Settled::NothingOpen(Box::new(shown)));
}

#[test]
fn checks_whose_owner_went_away_become_unavailable() {
    let world = World::new();
    let task = world.finished("t");
    let owner = world.store.own(&task, Duration::ZERO).unwrap();
    owner.record(&Event::CheckIntent {}, None).unwrap();
    drop(owner);
    let Settled::Closed(closed) = world.store.settle(&task, not_asked).unwrap() else {
        panic!("not closed");
    };
    assert_eq!((closed.status, closed.checks), (Status::Finished, Checks::Unavailable));
    assert_eq!(world.store.verify(&task).unwrap(), []);
}
