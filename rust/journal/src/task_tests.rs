use super::*;
use crate::command::Command;
use crate::fixtures;
use crate::transition::apply_event;
use rstest::rstest;

fn parse(bytes: &[u8]) -> Command {
    Command::parse(bytes).unwrap()
}

fn after(task: Option<&Task>, bytes: &[u8]) -> Result<Task, &'static str> {
    apply_command(Rules::CURRENT, task, &parse(bytes)).map_err(|error| error.code())
}

fn queued() -> Task {
    after(None, &fixtures::submit("c", "t", "/trees/t")).unwrap()
}

fn event(task: &Task, event: &crate::Event) -> Task {
    apply_event(Rules::CURRENT, task, crate::transition::epoch_of(task, event), event).unwrap()
}

/// A task in the named status, as the rules make it.
fn in_status(status: Status) -> Task {
    let queued = queued();
    let running = event(&queued, &fixtures::admitted(&queued));
    let cancel = |task: &Task| after(Some(task), &fixtures::cancel("x", &task.task_id, task.revision)).unwrap();
    let task = match status {
        Status::Queued => queued,
        Status::Cancelled => cancel(&queued),
        Status::Running => running,
        Status::CancelRequested => cancel(&running),
        Status::Finished => event(&running, &fixtures::ended(fixtures::result())),
        Status::Unknown => event(&running, &crate::Event::OwnerLost {}),
    };
    assert_eq!(task.status, status);
    task
}

#[test]
fn a_submitted_task_as_shown() {
    let task = queued();
    let shown = serde_json::to_value(&task).unwrap();
    assert_eq!(
        shown,
        serde_json::json!({
            "task_id": "t",
            "revision": 1,
            "intent": fixtures::intent("/trees/t"),
            "intent_digest": task.intent.digest(),
            "status": "queued",
            "execution": "not_started",
            "checks": "not_run",
            "cancellation_reason": null,
        })
    );
    assert_eq!(serde_json::from_value::<Task>(shown).unwrap(), task);
}

#[rstest]
#[case(Status::Queued, Ok(Status::Cancelled))]
#[case(Status::Running, Ok(Status::CancelRequested))]
#[case(Status::Cancelled, Err("invalid_transition"))]
#[case(Status::CancelRequested, Err("invalid_transition"))]
#[case(Status::Finished, Err("invalid_transition"))]
#[case(Status::Unknown, Err("invalid_transition"))]
fn cancel(#[case] status: Status, #[case] expected: Result<Status, &str>) {
    let task = in_status(status);
    let next = after(Some(&task), &fixtures::cancel("x2", &task.task_id, task.revision));
    assert_eq!(next.as_ref().map(|next| next.status).map_err(|code| *code), expected);
    if let Ok(next) = next {
        assert_eq!(next.revision, task.revision + 1);
        assert_eq!(next.cancellation_reason.as_deref(), Some("not needed"));
    }
}

#[rstest]
#[case(Status::Queued, Status::Queued, Checks::NotRun, None)]
#[case(Status::Cancelled, Status::Cancelled, Checks::NotRun, Some("not needed"))]
#[case(Status::Running, Status::CancelRequested, Checks::Disputed, Some(CORRECTED))]
#[case(
    Status::CancelRequested,
    Status::CancelRequested,
    Checks::Disputed,
    Some("not needed")
)]
#[case(Status::Finished, Status::Finished, Checks::Disputed, None)]
#[case(Status::Unknown, Status::Unknown, Checks::Disputed, None)]
fn correct(#[case] status: Status, #[case] expected: Status, #[case] checks: Checks, #[case] reason: Option<&str>) {
    let task = in_status(status);
    let next = after(Some(&task), &fixtures::correct("x2", &task.task_id, task.revision)).unwrap();
    assert_eq!(
        (next.status, next.checks, next.cancellation_reason.as_deref()),
        (expected, checks, reason)
    );
    assert_eq!(next.prompt(), "Fix the lexer.");
    assert_eq!(next.intent_digest, task.intent_digest);
}

#[rstest]
#[case(Status::Queued, false)]
#[case(Status::Cancelled, true)]
#[case(Status::Running, false)]
#[case(Status::CancelRequested, false)]
#[case(Status::Finished, true)]
#[case(Status::Unknown, false)]
fn continuing(#[case] status: Status, #[case] accepted: bool) {
    let task = in_status(status);
    let next = after(Some(&task), &fixtures::follow_up("x2", &task.task_id, task.revision));
    assert_eq!(next.is_ok(), accepted);
    if let Ok(next) = next {
        assert_eq!(
            (
                next.status,
                next.execution,
                next.checks,
                next.cancellation_reason.as_deref()
            ),
            (Status::Queued, Execution::NotStarted, Checks::NotRun, None)
        );
        assert_eq!(next.prompt(), "Now the printer.");
        assert_eq!(next.turn(), if status == Status::Finished { 2 } else { 1 });
    }
}

#[test]
fn a_task_is_not_continued_while_its_checks_run() {
    let task = event(&in_status(Status::Finished), &crate::Event::CheckIntent {});
    let next = after(Some(&task), &fixtures::follow_up("x2", &task.task_id, task.revision));
    assert_eq!(next, Err("invalid_transition"));
}

#[test]
fn the_later_of_correction_and_follow_up_is_the_prompt() {
    let task = in_status(Status::Finished);
    let corrected = after(Some(&task), &fixtures::correct("a", &task.task_id, task.revision)).unwrap();
    let continued = after(
        Some(&corrected),
        &fixtures::follow_up("b", &task.task_id, corrected.revision),
    )
    .unwrap();
    assert_eq!(continued.prompt(), "Now the printer.");
    let again = after(
        Some(&continued),
        &fixtures::correct("d", &task.task_id, continued.revision),
    )
    .unwrap();
    assert_eq!(again.prompt(), "Fix the lexer.");
}

#[test]
fn sixty_four_turns_and_no_more() {
    let mut task = in_status(Status::Finished);
    while task.turn() < 64 {
        task = after(Some(&task), &fixtures::follow_up("x", &task.task_id, task.revision)).unwrap();
        task = event(&task, &fixtures::admitted(&task));
        task = event(&task, &fixtures::ended(fixtures::result()));
    }
    let next = after(Some(&task), &fixtures::follow_up("x", &task.task_id, task.revision));
    assert_eq!(next, Err("limit_exceeded"));
}

#[test]
fn a_revision_not_seen_is_refused_and_a_task_is_submitted_once() {
    let task = queued();
    for revision in [0, 2, 99] {
        let next = after(Some(&task), &fixtures::cancel("x", &task.task_id, revision));
        assert_eq!(next, Err("revision_mismatch"));
    }
    let twice = after(Some(&task), &fixtures::submit("c2", "t", "/trees/t"));
    assert_eq!(twice, Err("invalid_transition"));
    let none = after(None, &fixtures::cancel("x", &task.task_id, 1));
    assert_eq!(none, Err("not_found"));
}

#[test]
fn states_are_written_as_they_are_stored() {
    for status in [
        Status::Queued,
        Status::Cancelled,
        Status::Running,
        Status::CancelRequested,
        Status::Finished,
        Status::Unknown,
    ] {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(Status::from_text(status.as_str()), Some(status));
    }
    assert_eq!(serde_json::to_value(Execution::NotStarted).unwrap(), "not_started");
    assert_eq!(serde_json::to_value(Checks::NotRun).unwrap(), "not_run");
    assert_eq!(Rules::from_number(Rules::CURRENT.number()), Some(Rules::CURRENT));
    assert_eq!(Rules::from_number(2), None);
}
