use super::*;
use crate::testing::{log, rewrite, step};
use crate::{Source, Step, limits};
use coder_digest::TaskId;
use rstest::rstest;
use serde_json::json;

const NAME: &str = "fix.1.atif.jsonl";

fn subject(task: &TaskId) -> Subject<'_> {
    Subject {
        task,
        intent: Digest::of(b"intent"),
        trace_file: NAME,
    }
}

fn page(path: &Path, cursor: Option<&Cursor>, count: u64) -> Result<EvidencePage, Error> {
    let task = TaskId::new("fix").unwrap();
    view_page(
        subject(&task),
        path,
        cursor,
        PageSize::new(count).unwrap(),
        Expectation::default(),
        None,
    )
}

#[test]
fn a_whole_page() {
    let mut log = log();
    log.writer.append(&Step::new(Source::User, "fix it")).unwrap();
    log.writer
        .append(
            &step("admitted")
                .with_extension("admission", &json!({"mode": "boundary"}))
                .unwrap(),
        )
        .unwrap();
    let page = page(&log.path, None, 100).unwrap();
    let digest = Digest::of(&std::fs::read(&log.path).unwrap());
    let prefix = page
        .next
        .as_ref()
        .map(|next| serde_json::to_value(next).unwrap()["prefix_digest"].clone());
    assert_eq!(
        serde_json::to_value(&page).unwrap(),
        json!({
            "state": "unsealed",
            "trace_file": NAME,
            "digest": digest,
            "matches_result": null,
            "faults": [],
            "total_steps": 2,
            "next": {
                "schema": CURSOR_LABEL,
                "task_id": "fix",
                "intent_digest": Digest::of(b"intent"),
                "trace_file": NAME,
                "next_step": 3,
                "prefix_digest": prefix,
            },
            "more_available": false,
            "steps": [
                {"step_id": 1, "timestamp": "2026-11-30T12:00:01.000Z", "source": "user", "message": "fix it"},
                {
                    "step_id": 2,
                    "timestamp": "2026-11-30T12:00:02.000Z",
                    "source": "system",
                    "message": "admitted",
                    "extra": {"admission": {"mode": "boundary"}},
                },
            ],
        })
    );
}

const CURSOR_LABEL: &str = "openagents.coder.task-view-cursor.v1";

#[test]
fn pages_follow_each_other_to_the_end_of_a_growing_log() {
    let mut log = log();
    for number in 0..5 {
        log.writer.append(&step(&number.to_string())).unwrap();
    }
    let first = page(&log.path, None, 2).unwrap();
    assert!(first.more_available);
    // Appending leaves the cursor valid, as does writing it down and reading it.
    log.writer.append(&step("5")).unwrap();
    let written: Cursor = first.next.unwrap().to_string().parse().unwrap();
    let second = page(&log.path, Some(&written), 200).unwrap();
    let messages: Vec<_> = second
        .steps
        .iter()
        .map(|step| step.rendered()["message"].clone())
        .collect();
    assert_eq!(messages, ["2", "3", "4", "5"]);
    assert_eq!(second.steps[0].number, 3);
    // Nothing is left, but the log may grow.
    let waiting = second.next.unwrap();
    log.writer.seal().unwrap();
    let last = page(&log.path, Some(&waiting), 200).unwrap();
    assert_eq!((last.steps.len(), last.next, last.more_available), (0, None, false));
}

#[rstest]
#[case::task("task_id", json!("other"), "it is of another task")]
#[case::intent("intent_digest", json!(Digest::of(b"corrected")), "the task's intent has changed")]
#[case::log("trace_file", json!("fix.2.atif.jsonl"), "it is of another log")]
#[case::schema("schema", json!("openagents.coder.task-view-cursor.v2"), "its schema is not known")]
#[case::past_the_end("next_step", json!(4), "the log has no such step")]
#[case::zero("next_step", json!(0), "the log has no such step")]
#[case::moved("next_step", json!(2), "the steps before it have changed")]
fn a_cursor_that_does_not_fit_is_a_conflict(#[case] field: &str, #[case] value: Value, #[case] reason: &str) {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    log.writer.append(&step("two")).unwrap();
    let cursor = page(&log.path, None, 2).unwrap().next.unwrap();
    let mut written = serde_json::to_value(&cursor).unwrap();
    written[field] = value;
    let changed: Cursor = written.to_string().parse().unwrap();
    let error = page(&log.path, Some(&changed), 2).unwrap_err();
    assert_eq!(error.code(), "command_conflict");
    assert_eq!(
        error.to_string(),
        format!("the cursor does not fit: {reason}; begin again without one")
    );
}

#[test]
fn a_cursor_is_bound_to_the_steps_it_follows() {
    let mut log = log();
    log.writer.append(&step("one")).unwrap();
    let cursor = page(&log.path, None, 2).unwrap().next.unwrap();
    let edited = std::fs::read_to_string(&log.path)
        .unwrap()
        .replace("\"one\"", "\"two\"");
    rewrite(&log.path, edited.as_bytes());
    assert_eq!(
        page(&log.path, Some(&cursor), 2).unwrap_err().code(),
        "command_conflict"
    );
}

#[rstest]
#[case::not_json("next")]
#[case::another_field(
    r#"{"schema":"s","task_id":"t","intent_digest":"","trace_file":"","next_step":1,"prefix_digest":"","more":1}"#
)]
#[case::empty("{}")]
fn what_is_no_cursor_is_a_conflict(#[case] text: &str) {
    assert_eq!(text.parse::<Cursor>().unwrap_err().code(), "command_conflict");
}

#[test]
fn a_cursor_over_its_bound_is_a_conflict() {
    let text = format!("{{\"schema\":\"{}\"}}", "x".repeat(limits::CURSOR));
    let error = text.parse::<Cursor>().unwrap_err();
    assert!(error.to_string().contains("longer than 4096"), "{error}");
}

#[test]
fn a_log_that_cannot_be_read_is_a_state_and_not_an_error() {
    let log = log();
    std::fs::remove_file(&log.path).unwrap();
    assert_eq!(
        page(&log.path, None, 1).unwrap(),
        EvidencePage {
            state: EvidenceState::Missing,
            trace_file: Some(NAME.into()),
            ..not_started()
        }
    );
}

#[test]
fn faults_beyond_the_list_are_counted() {
    let log = log();
    rewrite(&log.path, &[b"\n".repeat(5000), b"torn".to_vec()].concat());
    let page = page(&log.path, None, 1).unwrap();
    assert_eq!(
        (page.state, page.total_steps, page.next.is_some()),
        (EvidenceState::Malformed, 0, true)
    );
    assert_eq!((page.faults.len(), page.faults_omitted), (limits::FAULTS + 1, 904));
}
