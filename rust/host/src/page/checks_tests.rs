use super::*;
use coder_digest::{Digest, Identifier};
use coder_journal::{CHECKS_SCHEMA, Held, VERIFICATION_SCHEMA};
use rstest::rstest;
use serde_json::Value;

fn outcome(id: &str, verdict: Judgement, ending: SuiteEnding, reason: &str) -> CheckOutcome {
    CheckOutcome {
        id: Identifier::new(id).unwrap(),
        verdict,
        reason: reason.to_owned(),
        ending,
        elapsed_ms: 1500,
        stdout_digest: Digest::of(id.as_bytes()),
        stderr_digest: Digest::of(b""),
        output_truncated: false,
        suite_evidence: None,
        group_clear: true,
        grader: Sameness::Unchanged,
        boundary: Held::Whole,
        enforced: Value::Null,
        approval: Value::Null,
    }
}

fn rendered(report: &CheckReport) -> String {
    let mut markup = Markup::default();
    table(&mut markup, report);
    markup.finish()
}

fn report(checks: Vec<CheckOutcome>, workspace: Sameness) -> CheckReport {
    let candidate = Digest::of(b"candidate");
    let evidence = CheckEvidence {
        schema: VERIFICATION_SCHEMA.to_owned(),
        plan_digest: Digest::of(b"plan"),
        input_digest: candidate,
        before_snapshot: Some(candidate),
        after_snapshot: Some(candidate),
        workspace,
        verdict: Judgement::Failed,
        checks,
    };
    CheckReport {
        schema: CHECKS_SCHEMA.to_owned(),
        requirements_digest: Digest::of(b"requirements"),
        context_digest: None,
        candidate_snapshot: Some(candidate),
        verdict: Verdict::Failed,
        evidence: serde_json::to_value(evidence).unwrap(),
        reason: None,
    }
}

/// The cells of each row, without their markup.
fn rows(page: &str) -> Vec<Vec<String>> {
    let body = page.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap();
    let cell = |cell: &str| {
        let text: Vec<&str> = cell.split('<').map(|part| part.rsplit('>').next().unwrap()).collect();
        text.concat()
    };
    body.lines()
        .filter(|line| !line.is_empty())
        .map(|row| {
            row.split("<td>")
                .skip(1)
                .map(|found| cell(found.split("</td>").next().unwrap()))
                .collect()
        })
        .collect()
}

#[test]
fn every_check_that_ran_has_a_row() {
    let checks = vec![
        outcome("unit", Judgement::Passed, SuiteEnding::Exited(0), "the suite says so"),
        outcome(
            "end-to-end",
            Judgement::Failed,
            SuiteEnding::Exited(3),
            "its status is <3>",
        ),
    ];
    let digest = |id: &str| Digest::of(id.as_bytes()).to_string();
    let expected = [
        [
            "passed",
            "unit",
            "exited",
            "0",
            "1.50 s",
            &digest("unit"),
            "the suite says so",
        ],
        [
            "failed",
            "end-to-end",
            "exited",
            "3",
            "1.50 s",
            &digest("end-to-end"),
            "its status is &lt;3&gt;",
        ],
    ];
    assert_eq!(rows(&rendered(&report(checks, Sameness::Unchanged))), expected);
}

#[rstest]
#[case::not_started(SuiteEnding::NotStarted, "not started")]
#[case::signal(SuiteEnding::Signalled(9), "ended by signal 9")]
#[case::deadline(SuiteEnding::DeadlineExceeded, "took too long")]
#[case::interrupted(SuiteEnding::Interrupted, "interrupted")]
#[case::unknown(SuiteEnding::Unknown, "unknown")]
fn a_suite_that_did_not_exit_has_no_exit_status(#[case] ending: SuiteEnding, #[case] words: &str) {
    let page = rendered(&report(
        vec![outcome("unit", Judgement::Unverifiable, ending, "why")],
        Sameness::Changed,
    ));
    let row = rows(&page).remove(0);
    assert_eq!(row[..4], ["unverifiable", "unit", words, "none"]);
    assert!(page.contains("which did not stay as it was"), "{page}");
}

#[test]
fn evidence_of_another_form_is_shown_as_it_stands() {
    let mut other = report(Vec::new(), Sameness::Unchanged);
    other.evidence = serde_json::json!({ "later": "form" });
    let page = rendered(&other);
    assert!(!page.contains("<table") && page.contains("later"), "{page}");
    other.evidence = Value::Null;
    assert_eq!(rendered(&other), "");
}
