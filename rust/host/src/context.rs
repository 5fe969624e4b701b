//! The context of a run, captured once before admission: the prompt in force and the repository's instruction files, each
//! with its digest. It is data for the model and widens no authority (specification, "Prepare the request and grant").
//! Only `AGENTS.md` at the top level is read here; scoped targets come with requirements.

use crate::Error;
use coder_digest::{Digest, bare, json};
use coder_journal::Task;
use coder_workspace::{Confined, Observation, ReadCap};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// The schema of a captured context.
pub const SCHEMA: &str = "openagents.coder.task-context.v2";
const FILE: &str = "AGENTS.md";
/// The longest instruction file, in bytes.
const FILE_BYTES: usize = 64 * 1024;

/// One instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// Its path in the workspace.
    pub path: String,
    /// The directory it speaks of.
    pub scope: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its text.
    pub text: String,
}

/// What the model is told of the request and the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    schema: &'static str,
    /// The task's revision at admission.
    pub task_revision: u64,
    /// The prompt in force.
    pub prompt: String,
    /// Instruction files, shallow to deep.
    pub instructions: Vec<Instruction>,
    suites: Vec<Value>,
    lineage: Option<Value>,
    knowledge: Vec<Value>,
    /// The value digest of everything above.
    #[serde(with = "bare")]
    pub digest: Digest,
}

impl Context {
    /// Captures the context of `task` from its workspace.
    ///
    /// # Errors
    /// [`Error::Instructions`] for an instruction file that is not a plain UTF-8 file of at most 64 KiB,
    /// [`Error::Workspace`] when the workspace cannot be opened.
    pub fn capture(task: &Task, workspace: &Path, suites: Vec<Value>) -> Result<Self, Error> {
        let instructions: Vec<Instruction> = read(&Confined::open(workspace)?)?.into_iter().collect();
        let content = json!({
            "schema": SCHEMA,
            "task_revision": task.revision,
            "prompt": task.prompt(),
            "instructions": instructions,
            "suites": suites,
            "lineage": null,
            "knowledge": [],
        });
        Ok(Self {
            schema: SCHEMA,
            task_revision: task.revision,
            prompt: task.prompt().to_owned(),
            instructions,
            suites,
            lineage: None,
            knowledge: Vec::new(),
            digest: json::digest(&content),
        })
    }

    /// The instruction files as one text for the model; empty without any.
    pub fn instruction_text(&self) -> String {
        let parts: Vec<String> = self
            .instructions
            .iter()
            .map(|file| format!("From {} (for {}):\n{}", file.path, file.scope, file.text.trim_end()))
            .collect();
        parts.join("\n\n")
    }
}

fn read(workspace: &Confined) -> Result<Option<Instruction>, Error> {
    let refused = |reason: String| {
        Err(Error::Instructions {
            path: FILE.to_owned(),
            reason,
        })
    };
    match workspace.read(Path::new(FILE), ReadCap::new(FILE_BYTES)?) {
        Observation::Absent => Ok(None),
        Observation::Refused(refusal) => refused(refusal.to_string()),
        Observation::ReadError { reason, .. } => refused(reason),
        Observation::Found { bytes, digest, total } => {
            if total > FILE_BYTES as u64 {
                return refused(format!("it has {total} bytes; at most {FILE_BYTES} are read"));
            }
            match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(Instruction {
                    path: FILE.to_owned(),
                    scope: "the whole repository".to_owned(),
                    digest,
                    text,
                })),
                Err(_) => refused("it is not UTF-8".to_owned()),
            }
        }
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
