//! Holds a report of checks against the bytes it rests on: what each suite printed is read again, and must be what the evidence
//! says it printed. That the verdict follows from the evidence is the journal's replay; that both were not edited together is
//! its chain.

use super::Findings;
use coder_journal::{CheckEvidence, CheckOutcome, CheckReport, SuiteEnding, SuiteEvidence};
use coder_workspace::Retention;
use std::path::Path;

/// A stream of a suite is kept up to this; a plan allows no more.
const STREAM_BYTES: u64 = 1024 * 1024;

pub(super) fn verify(store: &Path, report: &CheckReport, findings: &mut Findings) {
    if report.evidence.is_null() {
        let told = report.reason.as_ref().is_some_and(|reason| !reason.is_empty());
        return findings.compare("check_report", told, || "there is neither evidence nor a reason".into());
    }
    let evidence = serde_json::from_value::<CheckEvidence>(report.evidence.clone());
    let outcome = match (evidence, Retention::open(store)) {
        (Ok(evidence), Ok(retention)) => evidence.checks.iter().try_for_each(|check| printed(&retention, check)),
        (Err(_), _) => Err("its evidence is not of the known form".to_owned()),
        (_, Err(error)) => Err(error.to_string()),
    };
    findings.outcome("check_report", outcome);
}

fn printed(retention: &Retention, check: &CheckOutcome) -> Result<(), String> {
    let kept = |digest| {
        retention
            .get(digest, STREAM_BYTES)
            .map_err(|error| format!("what the suite of `{}` printed: {error}", check.id))
    };
    let stdout = kept(&check.stdout_digest)?;
    kept(&check.stderr_digest)?;
    let said = match check.ending {
        SuiteEnding::Exited(0) if !check.output_truncated => SuiteEvidence::read(&stdout).ok(),
        SuiteEnding::Exited(_)
        | SuiteEnding::NotStarted
        | SuiteEnding::Signalled(_)
        | SuiteEnding::DeadlineExceeded
        | SuiteEnding::Interrupted
        | SuiteEnding::Unknown => None,
    };
    if said == check.suite_evidence {
        Ok(())
    } else {
        Err(format!(
            "the suite of `{}` printed something else than its evidence says",
            check.id
        ))
    }
}
