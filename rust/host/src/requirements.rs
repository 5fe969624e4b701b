//! What a candidate must meet, pinned in the grant before the candidate exists (facts 10): requirements in words, the plan of
//! checks that judge them, and where all of it comes from. Read from the grant into a closed shape, then checked field by
//! field. Nothing here opens a file or runs anything: whether a suite is there is asked by `checks`.

mod lineage;
mod plan;

pub use lineage::{CheckLineage, KnowledgeInput, without_run_number};
pub use plan::{CANDIDATE, PLAN_SCHEMA, Plan, PlannedCheck};

use crate::Error;
use coder_digest::{Digest, Identifier, check_line, json};
use plan::PlanText;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// The schema of requirements that can start new work.
pub const SCHEMA: &str = "openagents.coder.task-requirements.v2";
/// The schema of earlier ones, which say nothing of their sources.
const LEGACY_SCHEMA: &str = "openagents.coder.task-requirements.v1";
/// The most requirements, and the most checks of one of them.
const REQUIREMENTS: usize = 64;
const STATEMENT_BYTES: usize = 8192;
const INSTRUCTION_TARGETS: usize = 64;

/// As written: closed, unchecked beyond its shape.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementsText {
    schema: String,
    version: u64,
    requirements: Vec<Requirement>,
    plan: PlanText,
    #[serde(default)]
    instruction_targets: Vec<String>,
    #[serde(default)]
    source_exclusions: Vec<String>,
    #[serde(default)]
    task_sources: Vec<String>,
    #[serde(default)]
    check_lineage: Vec<CheckLineage>,
    #[serde(default)]
    knowledge: Vec<KnowledgeInput>,
}

/// Which form the requirements have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edition {
    /// Without sources: still read, so that old records can be shown, but no work is started and no check run under it.
    Legacy,
    /// With the sources of everything.
    Current,
}

/// One requirement and the checks that judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its name, once in the document.
    pub id: Identifier,
    /// What must hold: one line of at most 8192 bytes.
    pub statement: String,
    /// 1 to 64 checks of the plan.
    pub checks: Vec<Identifier>,
}

/// Requirements whose every field is inside its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirements {
    /// Which form they have.
    pub edition: Edition,
    /// Their own version, from 1.
    pub version: u64,
    /// 1 to 64 requirements.
    pub requirements: Vec<Requirement>,
    /// How they are judged.
    pub plan: Plan,
    /// Relative paths whose directories' instruction files are captured; at most 64.
    pub instruction_targets: Vec<String>,
    /// Sources that neither a check nor a knowledge document may come from; at most 256.
    pub source_exclusions: Vec<String>,
    /// Where the task itself comes from; never empty in the current edition.
    pub task_sources: Vec<String>,
    /// Where each check comes from: exactly one entry for each check of the plan.
    pub check_lineage: Vec<CheckLineage>,
    /// Frozen documents the model is given; at most 16.
    pub knowledge: Vec<KnowledgeInput>,
    digest: Digest,
}

impl Requirements {
    /// Reads the `requirements` of a grant.
    ///
    /// # Errors
    /// [`Error::GrantShape`] for another shape, [`Error::UnsupportedSchema`], and [`Error::GrantField`] naming the first
    /// field outside its bounds.
    pub fn parse(value: &Value) -> Result<Self, Error> {
        let text = json::canonical(value);
        let written: RequirementsText =
            json::parse_as(text.as_bytes(), json::Limit::RECORD).map_err(|source| Error::GrantShape {
                source: inside_requirements(source),
            })?;
        let edition = match written.schema.as_str() {
            SCHEMA => Edition::Current,
            LEGACY_SCHEMA => Edition::Legacy,
            _ => {
                return Err(Error::UnsupportedSchema {
                    what: "requirements",
                    expected: SCHEMA,
                });
            }
        };
        if written.version == 0 {
            return Err(fault("version", "a version begins at 1"));
        }
        let plan = written.plan.check()?;
        covered(&written.requirements, &plan)?;
        check_targets(&written.instruction_targets)?;
        let checked = Self {
            edition,
            version: written.version,
            requirements: written.requirements,
            plan,
            instruction_targets: written.instruction_targets,
            source_exclusions: written.source_exclusions,
            task_sources: written.task_sources,
            check_lineage: written.check_lineage,
            knowledge: written.knowledge,
            digest: Digest::of(text.as_bytes()),
        };
        lineage::check(&checked)?;
        Ok(checked)
    }

    /// The value digest that a report of checks names.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Refuses requirements under which no new work may begin.
    ///
    /// # Errors
    /// [`Error::GrantField`] for the legacy edition.
    pub fn admissible(&self) -> Result<(), Error> {
        match self.edition {
            Edition::Current => Ok(()),
            Edition::Legacy => Err(fault(
                "schema",
                format!("`{LEGACY_SCHEMA}` says nothing of its sources and starts no new work: write `{SCHEMA}`"),
            )),
        }
    }
}

/// A shape error of the requirements alone, whose lines are not the grant's.
fn inside_requirements(error: json::Error) -> json::Error {
    match error {
        json::Error::Shape { reason } => {
            let reason = reason.split(" at line ").next().unwrap_or_default();
            json::Error::Shape {
                reason: format!("`requirements`: {reason}"),
            }
        }
        other => other,
    }
}

/// Each requirement names checks of the plan, and each check of the plan judges a requirement.
fn covered(requirements: &[Requirement], plan: &Plan) -> Result<(), Error> {
    if !(1..=REQUIREMENTS).contains(&requirements.len()) {
        return Err(fault("requirements", "1 to 64 requirements are needed"));
    }
    let planned: HashSet<&Identifier> = plan.checks.iter().map(|check| &check.id).collect();
    let mut ids = HashSet::new();
    let mut used = HashSet::new();
    for (index, requirement) in requirements.iter().enumerate() {
        let place = |name: &str| format!("requirements[{index}].{name}");
        if !ids.insert(&requirement.id) {
            return Err(fault(place("id"), format!("`{}` is there twice", requirement.id)));
        }
        check_line("statement", &requirement.statement, STATEMENT_BYTES)
            .map_err(|error| fault(place("statement"), error.to_string()))?;
        if !(1..=REQUIREMENTS).contains(&requirement.checks.len()) {
            return Err(fault(place("checks"), "1 to 64 checks are needed"));
        }
        for check in &requirement.checks {
            if !planned.contains(check) {
                return Err(fault(place("checks"), format!("the plan has no check `{check}`")));
            }
            used.insert(check);
        }
    }
    match plan.checks.iter().find(|check| !used.contains(&check.id)) {
        Some(check) => Err(fault(
            "plan.checks",
            format!("no requirement names the check `{}`", check.id),
        )),
        None => Ok(()),
    }
}

fn check_targets(targets: &[String]) -> Result<(), Error> {
    if targets.len() > INSTRUCTION_TARGETS {
        return Err(fault("instruction_targets", "at most 64 paths are allowed"));
    }
    for (index, target) in targets.iter().enumerate() {
        relative_path(target).map_err(|reason| fault(format!("instruction_targets[{index}]"), reason))?;
    }
    Ok(())
}

/// A relative path of plain names.
fn relative_path(path: &str) -> Result<(), &'static str> {
    let plain = |name: &str| !matches!(name, "" | "." | "..");
    if path.len() <= 4096 && !path.contains('\0') && path.split('/').all(plain) {
        Ok(())
    } else {
        Err("a relative path without `.`, `..` or empty parts is needed")
    }
}

/// A field of the requirements outside its bounds.
fn fault(place: impl std::fmt::Display, reason: impl Into<String>) -> Error {
    crate::grant::field(format!("requirements.{place}"), reason)
}

#[cfg(test)]
#[path = "requirements_tests.rs"]
pub(crate) mod tests;
