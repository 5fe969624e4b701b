//! What the independent checks saw, as typed evidence, and the verdict that follows from it (facts 10). The verdict is derived
//! and never believed: the host derives it when the checks end, and every replay derives it again. Pure; running a suite is
//! the host's, and so is holding what a suite printed against the bytes that were kept.

use crate::event::{CheckReport, Verdict, bare_or_null};
use coder_digest::{Digest, Identifier, bare, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema of a plan of checks, of what a suite prints, and of the evidence.
pub const VERIFICATION_SCHEMA: &str = "openagents.verification.v1";

/// What one check, or all of them, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The candidate does what is checked.
    Passed,
    /// It does not.
    Failed,
    /// Nothing can be said of it.
    Unverifiable,
}

/// What a suite must print, and all it may print, on standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteEvidence {
    /// [`VERIFICATION_SCHEMA`].
    pub schema: String,
    /// The digest of the suite's program.
    pub suite_digest: Digest,
    /// The candidate's digest, as the suite got it.
    #[serde(with = "bare")]
    pub input_digest: Digest,
    /// What the suite says.
    pub verdict: Judgement,
}

impl SuiteEvidence {
    /// Reads what a suite printed: one strict JSON object of the closed shape, with white space around it.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(stdout: &[u8]) -> Result<Self, String> {
        json::parse_as(stdout, json::Limit(stdout.len())).map_err(|error| error.to_string())
    }
}

/// How a suite's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteEnding {
    /// It was never started.
    NotStarted,
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that the host did not send.
    Signalled(i32),
    /// Its time was over.
    DeadlineExceeded,
    /// The checker was asked to stop.
    Interrupted,
    /// Nobody saw it.
    Unknown,
}

/// Whether something is after the check what it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sameness {
    /// It is.
    Unchanged,
    /// It is not.
    Changed,
    /// It could not be looked at.
    Unobservable,
}

/// Whether the boundary held what it promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// All of it.
    Whole,
    /// Less.
    Less,
}

/// What one check saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckOutcome {
    /// The check.
    pub id: Identifier,
    /// What follows from the rest.
    pub verdict: Judgement,
    /// Why, in words; never empty.
    pub reason: String,
    /// How the suite ended.
    pub ending: SuiteEnding,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Digest of what is kept of standard output: all of it, unless it is truncated.
    pub stdout_digest: Digest,
    /// Digest of what is kept of standard error.
    pub stderr_digest: Digest,
    /// Whether either stream was longer than the plan allows.
    pub output_truncated: bool,
    /// What the suite said, if it printed exactly that.
    pub suite_evidence: Option<SuiteEvidence>,
    /// Whether it is proved that no process of the suite is left.
    pub group_clear: bool,
    /// The files of the suite: its program, its manifest, and everything the manifest names.
    pub grader: Sameness,
    /// Whether the boundary held all that it promised.
    pub boundary: Held,
    /// What was really enforced; null where nothing ran.
    pub enforced: Value,
    /// On whose word the suite ran: the approval that was found.
    pub approval: Value,
}

impl CheckOutcome {
    /// What the facts of this outcome say of `candidate`, and why in general.
    pub fn judged(&self, suite: &Digest, candidate: &Digest) -> (Judgement, &'static str) {
        use Judgement::{Failed, Unverifiable};
        if self.ending == SuiteEnding::NotStarted {
            return (Unverifiable, "the suite could not be started");
        }
        if !self.group_clear {
            return (Unverifiable, "the suite's processes were not proved gone");
        }
        if self.grader != Sameness::Unchanged {
            return (Unverifiable, "the suite's own files did not stay as they were");
        }
        if self.boundary != Held::Whole {
            return (Unverifiable, "the boundary held less than it promises");
        }
        if self.output_truncated {
            return (Unverifiable, "the suite printed more than its `output_bytes`");
        }
        match self.ending {
            SuiteEnding::Exited(0) => match &self.suite_evidence {
                None => (Unverifiable, "the suite did not print exactly one verdict"),
                Some(said)
                    if said.schema != VERIFICATION_SCHEMA
                        || said.suite_digest != *suite
                        || said.input_digest != *candidate =>
                {
                    (
                        Unverifiable,
                        "the printed verdict is of another schema, suite or candidate",
                    )
                }
                Some(said) => (said.verdict, "the suite says so"),
            },
            SuiteEnding::Exited(_) => (Failed, "the suite did not exit with status 0"),
            SuiteEnding::Signalled(_) => (Failed, "the suite was ended by a signal"),
            SuiteEnding::DeadlineExceeded => (Failed, "the suite took longer than its `seconds`"),
            SuiteEnding::Interrupted => (Unverifiable, "the checker was asked to stop"),
            SuiteEnding::Unknown | SuiteEnding::NotStarted => (Unverifiable, "nobody saw how the suite ended"),
        }
    }
}

/// What all checks of a plan saw, in the plan's order up to the first that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckEvidence {
    /// [`VERIFICATION_SCHEMA`].
    pub schema: String,
    /// Value digest of the plan with the candidate's digest in it.
    #[serde(with = "bare")]
    pub plan_digest: Digest,
    /// The candidate.
    #[serde(with = "bare")]
    pub input_digest: Digest,
    /// The workspace before the first check.
    #[serde(with = "bare_or_null")]
    pub before_snapshot: Option<Digest>,
    /// The workspace after the last.
    #[serde(with = "bare_or_null")]
    pub after_snapshot: Option<Digest>,
    /// Whether it stayed the same in every identity and time, not only in content.
    pub workspace: Sameness,
    /// What follows from the rest.
    pub verdict: Judgement,
    /// What each check saw.
    pub checks: Vec<CheckOutcome>,
}

impl CheckEvidence {
    /// What the evidence says for a plan of so many checks.
    pub fn judged(&self, planned: usize) -> Judgement {
        let any = |wanted| self.checks.iter().any(|check| check.verdict == wanted);
        match self.workspace {
            Sameness::Unobservable => Judgement::Unverifiable,
            Sameness::Changed => Judgement::Failed,
            Sameness::Unchanged if any(Judgement::Failed) => Judgement::Failed,
            Sameness::Unchanged if self.checks.len() < planned || any(Judgement::Unverifiable) => {
                Judgement::Unverifiable
            }
            Sameness::Unchanged => Judgement::Passed,
        }
    }

    /// The verdict on the task. A tree that is not the candidate, or did not stay it, is no verdict on the candidate.
    pub fn verdict(&self, candidate: &Digest) -> Verdict {
        let of_candidate = self.before_snapshot == Some(*candidate) && self.after_snapshot == Some(*candidate);
        match (of_candidate && self.workspace == Sameness::Unchanged, self.verdict) {
            (true, Judgement::Passed) => Verdict::Passed,
            (true, Judgement::Failed) => Verdict::Failed,
            (true, Judgement::Unverifiable) | (false, _) => Verdict::Unavailable,
        }
    }
}

/// A grant's plan of checks with the candidate's digest in the place that the plan leaves for it.
pub fn prepared_plan(requirements: &Value, candidate: &Digest) -> Value {
    let mut plan = requirements.get("plan").cloned().unwrap_or_default();
    let candidate = Value::from(candidate.hex());
    if let Some(input) = plan.get_mut("input_digest") {
        *input = candidate.clone();
    }
    for check in plan
        .get_mut("checks")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(arguments) = check.get_mut("arguments") {
            *arguments = Value::from(vec![candidate.clone()]);
        }
        if let Some(input) = check.pointer_mut("/acceptance/input_digest") {
            *input = candidate.clone();
        }
    }
    plan
}

/// The rule that `report` breaks, if any: its verdict must be the one its evidence gives.
pub(crate) fn broken_rule(report: &CheckReport, requirements: &Value, context: &Value) -> Option<&'static str> {
    let told = report.reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    if report.evidence.is_null() {
        return match report.verdict {
            Verdict::Unavailable | Verdict::Disputed if told => None,
            Verdict::Unavailable | Verdict::Disputed => Some("a report without evidence says why"),
            Verdict::Passed | Verdict::Failed => Some("checks pass or fail only with evidence"),
        };
    }
    let Some(candidate) = report.candidate_snapshot else {
        return Some("checks judge only a known candidate");
    };
    let Ok(evidence) = serde_json::from_value::<CheckEvidence>(report.evidence.clone()) else {
        return Some("the evidence is not of the known form");
    };
    let plan = prepared_plan(requirements, &candidate);
    let planned = plan
        .get("checks")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let suites = context
        .get("suites")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    if evidence.schema != VERIFICATION_SCHEMA {
        Some("the evidence has another schema")
    } else if evidence.plan_digest != json::digest(&plan) {
        Some("the evidence is of another plan")
    } else if evidence.input_digest != candidate {
        Some("the evidence is of another candidate")
    } else if suites.len() != planned.len() || evidence.checks.len() > planned.len() {
        Some("the evidence is of more checks than were admitted")
    } else if let Some(rule) = broken_outcome(&evidence, planned, suites, &candidate) {
        Some(rule)
    } else if evidence.verdict != evidence.judged(planned.len()) {
        Some("the evidence gives another verdict")
    } else if report.verdict != evidence.verdict(&candidate) {
        Some("the report's verdict is not that of its evidence")
    } else {
        None
    }
}

fn broken_outcome(
    evidence: &CheckEvidence,
    planned: &[Value],
    suites: &[Value],
    candidate: &Digest,
) -> Option<&'static str> {
    let outcomes = evidence.checks.iter().zip(planned).zip(suites).enumerate();
    for (index, ((outcome, check), suite)) in outcomes {
        let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let digest = |value: &Value, pointer: &str| text(value, pointer).and_then(|text| text.parse::<Digest>().ok());
        let program = digest(check, "/acceptance/suite_digest");
        let Some(program) = program.filter(|program| digest(suite, "/program_digest") == Some(*program)) else {
            return Some("the suite judged is not the one admitted");
        };
        let same_manifest = digest(suite, "/manifest_digest") == digest(check, "/manifest_digest");
        let id = Some(outcome.id.to_string());
        if text(check, "/id") != id || text(suite, "/check") != id || !same_manifest {
            return Some("the suite judged is not the one admitted");
        }
        if outcome.reason.trim().is_empty() {
            return Some("a check says why");
        }
        if outcome.verdict != outcome.judged(&program, candidate).0 {
            return Some("a check's facts give another verdict");
        }
        let is_last = index + 1 == evidence.checks.len();
        if outcome.verdict != Judgement::Passed && !is_last {
            return Some("checks stop at the first that does not pass");
        }
    }
    None
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
