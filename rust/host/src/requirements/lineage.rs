//! Where checks and documents come from, as declared. A check written from the task's own source would judge a candidate by
//! what it was told, and a document from an excluded source would tell it the answer; both refuse. The declarations are an
//! operator's word: nothing here proves them.

use super::{Edition, Requirements, fault, relative_path};
use crate::Error;
use coder_digest::{Digest, Identifier, TaskId, check_line};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The most sources of one list.
const SOURCES: usize = 256;
const SOURCE_BYTES: usize = 1024;
const KNOWLEDGE: usize = 16;

/// Where one check comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckLineage {
    /// The check.
    pub check: Identifier,
    /// Its sources; never empty.
    pub sources: Vec<String>,
}

/// One frozen document, by everything that identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeInput {
    /// Its name; unlike other identifiers it may hold `/`.
    pub id: String,
    /// Its version, from 1.
    pub version: u32,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Where it lies in the workspace.
    pub path: String,
    /// Its sources; never empty.
    pub sources: Vec<String>,
}

/// A source's name without the number of a run at its end: `parser-task-1234` comes from where `parser-task` does.
pub fn without_run_number(source: &str) -> &str {
    match source.rsplit_once('-') {
        Some((name, number))
            if !name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        Some(_) | None => source,
    }
}

/// The names that count as a source, its own and the one without a run's number.
fn names(source: &str) -> [&str; 2] {
    [source, without_run_number(source)]
}

impl Requirements {
    /// The first declared source of a check or document that is the task itself, which therefore cannot be independent.
    pub fn derived_from(&self, task: &TaskId) -> Option<&str> {
        let own = names(task.as_str());
        let checks = self.check_lineage.iter().flat_map(|lineage| &lineage.sources);
        let documents = self.knowledge.iter().flat_map(|input| &input.sources);
        checks
            .chain(documents)
            .map(String::as_str)
            .find(|source| names(source).iter().any(|name| own.contains(name)))
    }
}

/// Checks every list of sources, and that none overlaps what it must not come from.
pub(super) fn check(requirements: &Requirements) -> Result<(), Error> {
    let Requirements {
        edition,
        source_exclusions,
        task_sources,
        check_lineage,
        knowledge,
        plan,
        ..
    } = requirements;
    sources("source_exclusions", source_exclusions)?;
    if *edition == Edition::Legacy {
        let later = [
            ("task_sources", task_sources.is_empty()),
            ("check_lineage", check_lineage.is_empty()),
            ("knowledge", knowledge.is_empty()),
        ];
        return match later.into_iter().find(|(_, empty)| !empty) {
            Some((place, _)) => Err(fault(place, "the legacy schema has no such field")),
            None => Ok(()),
        };
    }
    some_sources("task_sources", task_sources)?;
    let excluded: HashSet<&str> = task_sources
        .iter()
        .chain(source_exclusions)
        .flat_map(|source| names(source))
        .collect();
    let mut checks = HashSet::new();
    for (index, lineage) in check_lineage.iter().enumerate() {
        let place = |name: &str| format!("check_lineage[{index}].{name}");
        if !plan.checks.iter().any(|check| check.id == lineage.check) {
            let reason = format!("the plan has no check `{}`", lineage.check);
            return Err(fault(place("check"), reason));
        }
        if !checks.insert(&lineage.check) {
            return Err(fault(place("check"), format!("`{}` is there twice", lineage.check)));
        }
        some_sources(&place("sources"), &lineage.sources)?;
        independent(&place("sources"), &lineage.sources, &excluded)?;
    }
    if let Some(check) = plan.checks.iter().find(|check| !checks.contains(&check.id)) {
        let reason = format!("the check `{}` has no entry: say where it comes from", check.id);
        return Err(fault("check_lineage", reason));
    }
    check_knowledge(knowledge, &excluded)
}

fn check_knowledge(knowledge: &[KnowledgeInput], excluded: &HashSet<&str>) -> Result<(), Error> {
    if knowledge.len() > KNOWLEDGE {
        return Err(fault("knowledge", "at most 16 documents are allowed"));
    }
    let mut ids = HashSet::new();
    for (index, input) in knowledge.iter().enumerate() {
        let place = |name: &str| format!("knowledge[{index}].{name}");
        let parts_are_names = input.id.split('/').all(|part| Identifier::new(part).is_ok());
        if !parts_are_names || input.id.len() > 128 {
            return Err(fault(
                place("id"),
                "an identifier, or several with `/` between, is needed",
            ));
        }
        if !ids.insert(&input.id) {
            return Err(fault(place("id"), format!("`{}` is there twice", input.id)));
        }
        if input.version == 0 {
            return Err(fault(place("version"), "a version begins at 1"));
        }
        relative_path(&input.path).map_err(|reason| fault(place("path"), reason))?;
        some_sources(&place("sources"), &input.sources)?;
        independent(&place("sources"), &input.sources, excluded)?;
    }
    Ok(())
}

fn some_sources(place: &str, list: &[String]) -> Result<(), Error> {
    if list.is_empty() {
        return Err(fault(place, "at least one source is needed"));
    }
    sources(place, list)
}

fn sources(place: &str, list: &[String]) -> Result<(), Error> {
    if list.len() > SOURCES {
        return Err(fault(place, "at most 256 sources are allowed"));
    }
    let mut seen = HashSet::new();
    for source in list {
        check_line("source", source, SOURCE_BYTES).map_err(|error| fault(place, error.to_string()))?;
        if !seen.insert(source) {
            return Err(fault(place, format!("`{source}` is there twice")));
        }
    }
    Ok(())
}

fn independent(place: &str, list: &[String], excluded: &HashSet<&str>) -> Result<(), Error> {
    let overlap = list
        .iter()
        .find(|source| names(source).iter().any(|name| excluded.contains(name)));
    match overlap {
        Some(source) => Err(fault(
            place,
            format!("`{source}` is one of the task's own or excluded sources"),
        )),
        None => Ok(()),
    }
}
