//! The plan of checks, `openagents.verification.v1`: which suite judges the candidate, for how long, and how much it may print.
//! A task's plan names the candidate by a placeholder, since the candidate does not exist yet.

use super::fault;
use crate::Error;
use crate::grant::absolute_path;
use coder_digest::{Digest, Identifier};
use serde::Deserialize;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The schema of a plan, and of what a suite prints.
pub const PLAN_SCHEMA: &str = "openagents.verification.v1";
/// Stands in a plan for the candidate's digest.
pub const CANDIDATE: &str = "{candidate_digest}";
/// Bounds of the plan's `seconds`, and of a check's.
const SECONDS: RangeInclusive<u64> = 1..=3600;
/// Bounds of a check's `output_bytes`.
const OUTPUT_BYTES: RangeInclusive<u64> = 1..=1024 * 1024;
/// The most checks.
const CHECKS: usize = 64;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanText {
    schema: String,
    input_digest: String,
    seconds: u64,
    allow_unrestricted_reads: bool,
    allow_network: bool,
    checks: Vec<CheckText>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckText {
    id: Identifier,
    manifest: String,
    manifest_digest: Digest,
    arguments: Vec<String>,
    seconds: u64,
    output_bytes: u64,
    acceptance: AcceptanceText,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum AcceptanceText {
    ExitSuccess {},
    Suite { suite_digest: String, input_digest: String },
}

/// A checked plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How long all checks together may take, 1 to 3600 seconds.
    pub seconds: u64,
    /// 1 to 64 checks, run in this order.
    pub checks: Vec<PlannedCheck>,
}

/// One check: a suite that judges the candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCheck {
    /// Its name, once in the plan.
    pub id: Identifier,
    /// The capability manifest that names the suite's program: an absolute path.
    pub manifest: PathBuf,
    /// The digest of the manifest's bytes.
    pub manifest_digest: Digest,
    /// How long it may take, at most as long as the plan.
    pub seconds: u64,
    /// How much it may print on each stream.
    pub output_bytes: usize,
    /// The digest of the suite's program.
    pub suite_digest: Digest,
}

impl PlanText {
    pub(super) fn check(self) -> Result<Plan, Error> {
        if self.schema != PLAN_SCHEMA {
            return Err(fault("plan.schema", format!("`{PLAN_SCHEMA}` is needed")));
        }
        if self.input_digest != CANDIDATE {
            return Err(fault("plan.input_digest", format!("it must be `{CANDIDATE}`")));
        }
        within("plan.seconds", self.seconds, SECONDS)?;
        // The contract was written for a checker that could hold neither. This one holds both unless a suite's manifest asks
        // for more, and records what it held; but a plan that relies on it would be read differently elsewhere.
        for (place, allowed) in [
            ("plan.allow_unrestricted_reads", self.allow_unrestricted_reads),
            ("plan.allow_network", self.allow_network),
        ] {
            if !allowed {
                return Err(fault(place, "it must be true: the contract promises no restriction"));
            }
        }
        if !(1..=CHECKS).contains(&self.checks.len()) {
            return Err(fault("plan.checks", "1 to 64 checks are needed"));
        }
        let mut ids = HashSet::new();
        let mut checks = Vec::with_capacity(self.checks.len());
        for (index, check) in self.checks.into_iter().enumerate() {
            if !ids.insert(check.id.clone()) {
                let reason = format!("`{}` is there twice", check.id);
                return Err(fault(format!("plan.checks[{index}].id"), reason));
            }
            checks.push(check.check(index, self.seconds)?);
        }
        Ok(Plan {
            seconds: self.seconds,
            checks,
        })
    }
}

impl CheckText {
    fn check(self, index: usize, plan_seconds: u64) -> Result<PlannedCheck, Error> {
        let place = |name: &str| format!("plan.checks[{index}].{name}");
        let manifest = absolute_path("manifest", &self.manifest).map_err(|_| {
            let reason = "an absolute path of at most 4096 bytes without `.` or `..` is needed";
            fault(place("manifest"), reason)
        })?;
        if self.arguments != [CANDIDATE] {
            return Err(fault(
                place("arguments"),
                format!("a suite takes exactly one argument, `{CANDIDATE}`"),
            ));
        }
        within(&place("seconds"), self.seconds, SECONDS)?;
        if self.seconds > plan_seconds {
            return Err(fault(place("seconds"), "it is more than the plan's own `seconds`"));
        }
        within(&place("output_bytes"), self.output_bytes, OUTPUT_BYTES)?;
        let suite_digest = match self.acceptance {
            AcceptanceText::ExitSuccess {} => {
                let reason = "`exit-success` says nothing of what was judged: a task needs `suite`";
                return Err(fault(place("acceptance.kind"), reason));
            }
            AcceptanceText::Suite {
                suite_digest,
                input_digest,
            } => {
                if input_digest != CANDIDATE {
                    return Err(fault(
                        place("acceptance.input_digest"),
                        format!("it must be `{CANDIDATE}`"),
                    ));
                }
                // The suite prints this very text, so only one form of it is allowed.
                let prefixed = suite_digest.starts_with("sha256:");
                let digest = suite_digest.parse().ok().filter(|_| prefixed);
                digest.ok_or_else(|| {
                    fault(
                        place("acceptance.suite_digest"),
                        "`sha256:` and 64 lower-case hexadecimal digits are needed",
                    )
                })?
            }
        };
        Ok(PlannedCheck {
            id: self.id,
            manifest,
            manifest_digest: self.manifest_digest,
            seconds: self.seconds,
            output_bytes: usize::try_from(self.output_bytes).unwrap_or(usize::MAX),
            suite_digest,
        })
    }
}

fn within(place: &str, value: u64, bounds: RangeInclusive<u64>) -> Result<(), Error> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let reason = format!("{value} is outside {} to {}", bounds.start(), bounds.end());
    Err(fault(place, reason))
}
