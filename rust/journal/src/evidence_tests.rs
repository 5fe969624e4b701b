use super::*;
use crate::command::Command;
use crate::event::Event;
use crate::fixtures::{self, evidence, report};
use crate::state::Checks;
use crate::task::{Rules, Task, apply_command};
use crate::{Error, apply_event};
use rstest::rstest;

fn checking() -> Task {
    let command = Command::parse(&fixtures::submit("c", "t", "/trees/t")).unwrap();
    let task = apply_command(Rules::CURRENT, None, &command).unwrap();
    let events = [
        fixtures::admitted(&task),
        fixtures::ended(fixtures::result()),
        Event::CheckIntent {},
    ];
    let after = |task: Task, event: &Event| apply_event(Rules::CURRENT, &task, 1, event).unwrap();
    events.iter().fold(task, after)
}

/// What replay makes of evidence that was changed and of the verdict given with it.
fn replayed(verdict: Verdict, change: impl FnOnce(&mut CheckEvidence)) -> Result<Checks, String> {
    let task = checking();
    let mut evidence = evidence(&task);
    change(&mut evidence);
    let mut report = report(&task);
    report.verdict = verdict;
    report.evidence = serde_json::to_value(&evidence).unwrap();
    match apply_event(Rules::CURRENT, &task, 1, &fixtures::checked(report)) {
        Ok(task) => Ok(task.checks),
        Err(Error::InvalidTransition { rule, .. }) => Err(rule.to_owned()),
        Err(error) => panic!("{error}"),
    }
}

/// Sets the only check's verdict and the evidence's.
fn both(evidence: &mut CheckEvidence, verdict: Judgement) {
    evidence.checks[0].verdict = verdict;
    evidence.verdict = verdict;
}

#[test]
fn complete_evidence_of_a_pass_passes() {
    assert_eq!(replayed(Verdict::Passed, |_| {}), Ok(Checks::Passed));
}

/// Facts 10: the verdict is derived on replay; a record that claims more than its facts is corrupt.
#[rstest]
#[case::no_check(|e: &mut CheckEvidence| e.checks.clear(), "the evidence gives another verdict")]
#[case::schema(|e: &mut CheckEvidence| e.schema = "other".into(), "the evidence has another schema")]
#[case::plan(|e: &mut CheckEvidence| e.plan_digest = Digest::of(b""), "the evidence is of another plan")]
#[case::input(|e: &mut CheckEvidence| e.input_digest = Digest::of(b""), "the evidence is of another candidate")]
#[case::other_check(|e: &mut CheckEvidence| e.checks[0].id = "other".parse().unwrap(), "the suite judged is not the one admitted")]
#[case::more_checks(|e: &mut CheckEvidence| e.checks.push(e.checks[0].clone()), "the evidence is of more checks than were admitted")]
#[case::no_reason(|e: &mut CheckEvidence| e.checks[0].reason = " ".into(), "a check says why")]
#[case::nothing_said(|e: &mut CheckEvidence| e.checks[0].suite_evidence = None, "a check's facts give another verdict")]
#[case::truncated(|e: &mut CheckEvidence| e.checks[0].output_truncated = true, "a check's facts give another verdict")]
#[case::status(|e: &mut CheckEvidence| e.checks[0].ending = SuiteEnding::Exited(1), "a check's facts give another verdict")]
#[case::grader(|e: &mut CheckEvidence| e.checks[0].grader = Sameness::Changed, "a check's facts give another verdict")]
#[case::boundary(|e: &mut CheckEvidence| e.checks[0].boundary = Held::Less, "a check's facts give another verdict")]
#[case::left_over(|e: &mut CheckEvidence| e.checks[0].group_clear = false, "a check's facts give another verdict")]
#[case::other_suite(|e: &mut CheckEvidence| said(e).suite_digest = Digest::of(b""), "a check's facts give another verdict")]
#[case::other_candidate(|e: &mut CheckEvidence| said(e).input_digest = Digest::of(b""), "a check's facts give another verdict")]
#[case::other_schema(|e: &mut CheckEvidence| said(e).schema = "other".into(), "a check's facts give another verdict")]
#[case::said_failed(|e: &mut CheckEvidence| said(e).verdict = Judgement::Failed, "a check's facts give another verdict")]
#[case::workspace(|e: &mut CheckEvidence| e.workspace = Sameness::Changed, "the evidence gives another verdict")]
#[case::before(|e: &mut CheckEvidence| e.before_snapshot = None, "the report's verdict is not that of its evidence")]
#[case::after(|e: &mut CheckEvidence| e.after_snapshot = Some(Digest::of(b"")), "the report's verdict is not that of its evidence")]
#[case::summed_up_wrongly(|e: &mut CheckEvidence| e.verdict = Judgement::Failed, "the evidence gives another verdict")]
fn a_pass_that_its_facts_do_not_give_is_refused(#[case] change: fn(&mut CheckEvidence), #[case] rule: &str) {
    assert_eq!(replayed(Verdict::Passed, change), Err(rule.to_owned()));
}

fn said(evidence: &mut CheckEvidence) -> &mut SuiteEvidence {
    evidence.checks[0].suite_evidence.as_mut().unwrap()
}

/// Trap 27: what kept a suite from judging is `unavailable`, and only what a suite or its end says is `failed`.
#[rstest]
#[case::not_started(|c: &mut CheckOutcome| c.ending = SuiteEnding::NotStarted, Judgement::Unverifiable)]
#[case::interrupted(|c: &mut CheckOutcome| c.ending = SuiteEnding::Interrupted, Judgement::Unverifiable)]
#[case::unseen(|c: &mut CheckOutcome| c.ending = SuiteEnding::Unknown, Judgement::Unverifiable)]
#[case::left_over(|c: &mut CheckOutcome| c.group_clear = false, Judgement::Unverifiable)]
#[case::tampered(|c: &mut CheckOutcome| c.grader = Sameness::Changed, Judgement::Unverifiable)]
#[case::unwatched(|c: &mut CheckOutcome| c.grader = Sameness::Unobservable, Judgement::Unverifiable)]
#[case::boundary(|c: &mut CheckOutcome| c.boundary = Held::Less, Judgement::Unverifiable)]
#[case::truncated(|c: &mut CheckOutcome| c.output_truncated = true, Judgement::Unverifiable)]
#[case::silent(|c: &mut CheckOutcome| c.suite_evidence = None, Judgement::Unverifiable)]
#[case::suite_cannot_tell(|c: &mut CheckOutcome| c.suite_evidence.as_mut().unwrap().verdict = Judgement::Unverifiable, Judgement::Unverifiable)]
#[case::suite_says_failed(|c: &mut CheckOutcome| c.suite_evidence.as_mut().unwrap().verdict = Judgement::Failed, Judgement::Failed)]
#[case::status(|c: &mut CheckOutcome| c.ending = SuiteEnding::Exited(1), Judgement::Failed)]
#[case::signal(|c: &mut CheckOutcome| c.ending = SuiteEnding::Signalled(11), Judgement::Failed)]
#[case::too_slow(|c: &mut CheckOutcome| c.ending = SuiteEnding::DeadlineExceeded, Judgement::Failed)]
fn failed_and_unavailable_are_kept_apart(#[case] change: fn(&mut CheckOutcome), #[case] expected: Judgement) {
    let (verdict, checks) = match expected {
        Judgement::Failed => (Verdict::Failed, Checks::Failed),
        Judgement::Unverifiable | Judgement::Passed => (Verdict::Unavailable, Checks::Unavailable),
    };
    let changed = |evidence: &mut CheckEvidence| {
        change(&mut evidence.checks[0]);
        both(evidence, expected);
    };
    assert_eq!(replayed(verdict, changed), Ok(checks));
}

#[test]
fn a_changed_workspace_fails_the_evidence_and_leaves_no_verdict_on_the_candidate() {
    let changed = |evidence: &mut CheckEvidence| {
        evidence.workspace = Sameness::Changed;
        evidence.after_snapshot = Some(Digest::of(b"other"));
        evidence.verdict = Judgement::Failed;
    };
    assert_eq!(replayed(Verdict::Unavailable, changed), Ok(Checks::Unavailable));
    assert_eq!(
        replayed(Verdict::Failed, changed),
        Err("the report's verdict is not that of its evidence".into())
    );
}

#[test]
fn the_plan_is_prepared_with_the_candidate_in_each_place() {
    let candidate = Digest::of(b"candidate");
    let plan = prepared_plan(&fixtures::requirements(), &candidate);
    assert_eq!(plan["input_digest"], candidate.hex());
    assert_eq!(plan["checks"][0]["arguments"], serde_json::json!([candidate.hex()]));
    assert_eq!(plan["checks"][0]["acceptance"]["input_digest"], candidate.hex());
    assert!(!plan.to_string().contains("candidate_digest"));
}

#[rstest]
#[case::exact(
    r#"{"schema":"s","suite_digest":"SUITE","input_digest":"INPUT","verdict":"passed"}"#,
    true
)]
#[case::white_space_around(
    " \n{\"schema\":\"s\",\"suite_digest\":\"SUITE\",\"input_digest\":\"INPUT\",\"verdict\":\"unverifiable\"}\n",
    true
)]
#[case::nothing("", false)]
#[case::two(
    r#"{"schema":"s","suite_digest":"SUITE","input_digest":"INPUT","verdict":"passed"}{}"#,
    false
)]
#[case::talk_before(
    "ok\n{\"schema\":\"s\",\"suite_digest\":\"SUITE\",\"input_digest\":\"INPUT\",\"verdict\":\"passed\"}",
    false
)]
#[case::one_more_field(
    r#"{"schema":"s","suite_digest":"SUITE","input_digest":"INPUT","verdict":"passed","score":1}"#,
    false
)]
#[case::one_field_less(r#"{"schema":"s","suite_digest":"SUITE","verdict":"passed"}"#, false)]
#[case::a_field_twice(
    r#"{"schema":"s","suite_digest":"SUITE","input_digest":"INPUT","verdict":"failed","verdict":"passed"}"#,
    false
)]
#[case::another_word(
    r#"{"schema":"s","suite_digest":"SUITE","input_digest":"INPUT","verdict":"ok"}"#,
    false
)]
fn a_suite_prints_exactly_one_verdict(#[case] text: &str, #[case] is_read: bool) {
    let text = text
        .replace("SUITE", &Digest::of(b"suite").to_string())
        .replace("INPUT", &Digest::of(b"candidate").hex());
    assert_eq!(SuiteEvidence::read(text.as_bytes()).is_ok(), is_read);
}
