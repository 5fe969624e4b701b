use super::*;
use crate::command::Action;
use crate::fixtures::{self, World, id};
use crate::record::Content;
use crate::state::Status;
use rstest::rstest;

fn named(command: &str) -> Identifier {
    Identifier::new(command).unwrap()
}

fn cancel() -> Ask {
    Ask::Cancel {
        reason: "enough".into(),
    }
}

fn correct() -> Ask {
    Ask::Correct {
        prompt: "Fix the lexer.".into(),
        reason: "wrong file".into(),
    }
}

fn follow_up() -> Ask {
    Ask::Continue {
        prompt: "Now the printer.".into(),
    }
}

fn last_action(world: &World, task: &TaskId) -> Action {
    let last = world.store.history(task).unwrap().pop().unwrap();
    let Content::Command { request, .. } = last.content else {
        panic!("the last record is no command");
    };
    Command::parse(request.as_bytes()).unwrap().action
}

// Trap b: a cancel written from an older look loses against the owner's own records.
#[test]
fn a_cancel_that_need_not_win_a_race() {
    let world = World::new();
    let task = world.submit("t");
    let owner = world.running(&task);
    let stale = world.store.command(&fixtures::cancel("c", &task, 1)).unwrap_err();
    assert_eq!(stale.code(), "revision_mismatch");
    let receipt = world.store.cancel_now(&named("c"), &task, "enough").unwrap();
    assert_eq!((receipt.revision, receipt.status), (4, Status::CancelRequested));
    let expected = Action::Cancel {
        expected_revision: 3,
        reason: "enough".into(),
    };
    assert_eq!(last_action(&world, &task), expected);
    owner.record(&fixtures::ended(fixtures::result()), None).unwrap();
    // Again, after the task moved on.
    assert_eq!(world.store.cancel_now(&named("c"), &task, "enough").unwrap(), receipt);
    let other = world.store.cancel_now(&named("c"), &task, "other").unwrap_err();
    assert_eq!(other.code(), "command_conflict");
    assert_eq!(world.store.verify(&task).unwrap(), []);
}

#[test]
fn a_correction_and_a_further_turn_at_whatever_revision() {
    let world = World::new();
    let task = world.finished("t");
    let receipt = world.store.ask(&named("c-1"), &task, &correct()).unwrap();
    assert_eq!((receipt.revision, receipt.checks.as_str()), (5, "disputed"));
    let expected = Action::Correct {
        expected_revision: 4,
        prompt: "Fix the lexer.".into(),
        reason: "wrong file".into(),
    };
    assert_eq!(last_action(&world, &task), expected);
    let receipt = world.store.ask(&named("c-2"), &task, &follow_up()).unwrap();
    assert_eq!((receipt.revision, receipt.status), (6, Status::Queued));
    let expected = Action::Continue {
        expected_revision: 5,
        prompt: "Now the printer.".into(),
    };
    assert_eq!(last_action(&world, &task), expected);
    assert_eq!(world.store.show(&task).unwrap().prompt(), "Now the printer.");
}

#[rstest]
#[case::nowhere("absent", cancel(), "not_found")]
#[case::finished("done", cancel(), "invalid_transition")]
#[case::queued("queued", follow_up(), "invalid_transition")]
#[case::text("queued", Ask::Cancel { reason: " ".into() }, "invalid_command")]
#[case::long("queued", Ask::Cancel { reason: "x".repeat(2049) }, "invalid_command")]
#[case::prompt("queued", Ask::Correct { prompt: "x".repeat(32769), reason: "r".into() }, "invalid_command")]
#[case::used("queued", correct(), "command_conflict")]
fn what_is_refused(#[case] task: &str, #[case] ask: Ask, #[case] code: &str) {
    let world = World::new();
    world.finished("done");
    world.submit("queued");
    let command = if code == "command_conflict" { "submit-done" } else { "c" };
    let refused = world.store.ask(&named(command), &id(task), &ask).unwrap_err();
    assert_eq!(refused.code(), code, "{refused}");
    assert_eq!(world.store.verify_all().unwrap(), []);
}

// An owner records while others ask: each ask is accepted, none is told that it came too late.
#[test]
fn no_ask_meets_another_revision() {
    let world = World::new();
    let task = world.submit("t");
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (store, task) = (world.again(), &task);
            scope.spawn(move || {
                for number in 0..10 {
                    store
                        .ask(&named(&format!("c-{worker}-{number}")), task, &correct())
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(world.store.show(&task).unwrap().revision, 81);
    assert_eq!(world.store.verify(&task).unwrap(), []);
}
