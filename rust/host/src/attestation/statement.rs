//! The statement as data: the closed shape that is written and read, and what must agree inside one statement without
//! looking anywhere else. Where its values come from is in `derive`.

use crate::Error;
use coder_digest::{Digest, TaskId, Timestamp, bare, json};
use coder_journal::{RunResult, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The `_type` of every statement: in-toto Statement, version 1.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The `predicateType`: what one run of a task was, version 1. A changed meaning is a new version.
pub const PREDICATE_TYPE: &str = "https://github.com/microcoder/microcoder/attestation/task-run/v1";
/// What an envelope says its payload is.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The algorithm of a file's digest, in in-toto's words.
pub(super) const SHA256: &str = "sha256";
/// A digest over a whole tree as docs/evidence.md defines it: not of any file's bytes, so it does not pose as `sha256`.
pub(super) const SNAPSHOT: &str = "microcoderSnapshotV1";
/// The subject that is the whole tree.
pub(super) const CANDIDATE: &str = "candidate";

/// An in-toto Statement of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    #[serde(rename = "_type")]
    pub(super) kind: String,
    pub(super) subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    pub(super) predicate_type: String,
    pub(super) predicate: Predicate,
}

/// Something the run left, by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) digest: BTreeMap<String, String>,
}

/// What is said of the subjects: under which authority, from what, behind which walls, how it ended, who checked it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Predicate {
    pub(super) task: TaskPart,
    pub(super) intent_digest: Digest,
    pub(super) grant_digest: Digest,
    pub(super) source: SourcePart,
    pub(super) program_digest: Digest,
    /// What the prompt was told about the repository, as admitted; null for a command that has no prompt.
    pub(super) context_digest: Option<Digest>,
    pub(super) trace_digest: Digest,
    pub(super) controller: Controller,
    pub(super) boundary: BoundaryPart,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    pub(super) result: RunResult,
    /// Null where no independent check was run.
    pub(super) checks: Option<ChecksPart>,
    pub(super) journal: JournalPart,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskPart {
    pub(super) id: TaskId,
    /// From 1.
    pub(super) turn: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourcePart {
    #[serde(with = "bare")]
    pub(super) snapshot: Digest,
    /// The commit that was checked out, where the admission names one.
    pub(super) revision: Option<String>,
}

/// The program that ran the task, as it recorded itself; the digest only where the grant pinned one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Controller {
    pub(super) path: Option<String>,
    pub(super) digest: Option<Digest>,
    pub(super) version: Option<String>,
}

/// The walls: what was planned at admission, and what the kernel reported of each command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundaryPart {
    pub(super) access: Value,
    pub(super) planned: Value,
    /// How many commands ran.
    pub(super) commands: u64,
    /// Each different report, in the order in which it was first made.
    pub(super) enforced: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChecksPart {
    pub(super) verdict: Verdict,
    #[serde(with = "bare")]
    pub(super) requirements_digest: Digest,
    /// Of the whole report as canonical JSON.
    pub(super) report_digest: Digest,
}

/// The last record of the run in the journal: its digest covers every record of the task before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalPart {
    pub(super) sequence: u64,
    pub(super) digest: Digest,
}

impl Subject {
    pub(super) fn of_bytes(name: impl Into<String>, digest: &Digest) -> Self {
        Self::with(name, SHA256, digest)
    }

    pub(super) fn with(name: impl Into<String>, algorithm: &str, digest: &Digest) -> Self {
        Self {
            name: name.into(),
            digest: BTreeMap::from([(algorithm.to_owned(), digest.hex())]),
        }
    }
}

impl Statement {
    /// Reads a statement: strict JSON of exactly this shape.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let refused = |reason: String| Error::Attestation { reason };
        let value = json::parse(bytes, json::Limit(bytes.len())).map_err(|error| refused(error.to_string()))?;
        let expected = [("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)];
        for (field, expected) in expected {
            match value.get(field).and_then(Value::as_str) {
                Some(found) if found == expected => {}
                Some(found) => {
                    return Err(refused(format!(
                        "its `{field}` is `{found}`, and this version reads `{expected}`"
                    )));
                }
                None => return Err(refused(format!("it has no `{field}`"))),
            }
        }
        serde_json::from_value(value).map_err(|error| refused(error.to_string()))
    }

    /// Canonical JSON: the same statement is always the same bytes.
    pub(super) fn to_json(&self) -> Result<String, Error> {
        json::canonical_of(self).map_err(|error| Error::Attestation {
            reason: error.to_string(),
        })
    }

    /// What two places of the statement say differently; the first of them.
    pub(super) fn contradiction(&self) -> Result<(), String> {
        let predicate = &self.predicate;
        let mut names: Vec<&str> = self.subject.iter().map(|subject| subject.name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err("two subjects have one name".to_owned());
        }
        let subject = |name: &str, algorithm: &str| {
            let found = self.subject.iter().find(|subject| subject.name == name);
            found.and_then(|subject| subject.digest.get(algorithm).cloned())
        };
        let hex = |digest: &Option<Digest>| digest.as_ref().map(Digest::hex);
        let result = &predicate.result;
        let trace = format!("{}.{}.atif.jsonl", predicate.task.id, predicate.task.turn);
        let pairs = [
            (
                "trace_digest",
                subject(&trace, SHA256),
                Some(predicate.trace_digest.hex()),
            ),
            (
                "result.trace_digest",
                hex(&result.trace_digest),
                Some(predicate.trace_digest.hex()),
            ),
            (
                "result.candidate_snapshot",
                subject(CANDIDATE, SNAPSHOT),
                hex(&result.candidate_snapshot),
            ),
        ];
        if let Some((field, _, _)) = pairs.iter().find(|(_, left, right)| left != right) {
            return Err(format!("the predicate's `{field}` is not the subject's digest"));
        }
        if let (Some(file), digest) = (&result.artifact_file, hex(&result.artifact_digest))
            && subject(file, SHA256) != digest
        {
            return Err("the predicate's `result.artifact_digest` is not the subject's digest".to_owned());
        }
        if predicate.boundary.enforced.len() as u64 > predicate.boundary.commands {
            return Err("more reports of walls than commands".to_owned());
        }
        match result.cost_is_consistent() {
            true => Ok(()),
            false => Err("the fields of the cost contradict each other".to_owned()),
        }
    }
}
