//! The context of a run, captured once before admission: the prompt in force, the repository's instruction files, frozen
//! documents, and where the checks and documents come from, each file with the digest of its bytes. It is data for the model
//! and widens no authority (specification, "Prepare the request and grant"; facts 3.8). What it cannot take whole it refuses.

mod front_matter;
mod instructions;
mod knowledge;
mod uncaptured;

pub use instructions::Instruction;
pub use knowledge::Document;
pub use uncaptured::Uncaptured;

use crate::Error;
use crate::requirements::{CheckLineage, Requirements};
use coder_digest::{Digest, bare, json};
use coder_journal::Task;
use coder_workspace::Confined;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// The schema of a captured context.
pub const SCHEMA: &str = "openagents.coder.task-context.v2";

/// Where checks and documents come from, as the requirements declare it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lineage {
    /// Where the task itself comes from.
    pub task_sources: Vec<String>,
    /// What neither a check nor a document may come from.
    pub source_exclusions: Vec<String>,
    /// Where each check comes from.
    pub check_lineage: Vec<CheckLineage>,
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
    /// The suites that will judge the candidate, as they are at admission.
    pub suites: Vec<Value>,
    /// Absent without requirements.
    pub lineage: Option<Lineage>,
    /// The frozen documents, in the order of the requirements.
    pub knowledge: Vec<Document>,
    /// The value digest of everything above.
    #[serde(with = "bare")]
    pub digest: Digest,
}

/// What a context is captured from.
pub struct Capture<'a> {
    /// The task, whose prompt in force is taken.
    pub task: &'a Task,
    /// The canonical workspace.
    pub workspace: &'a Path,
    /// The grant's requirements.
    pub requirements: Option<&'a Requirements>,
    /// The suites of their plan, by what identifies them.
    pub suites: Vec<Value>,
}

impl Capture<'_> {
    /// Reads everything.
    ///
    /// # Errors
    /// [`Error::Instructions`] for an instruction file that is not a plain UTF-8 file of at most 64 KiB, or for more than
    /// 256 KiB of them; [`Error::Knowledge`] for a document that is not exactly the one pinned; [`Error::Lineage`] where a
    /// check or document comes from the task itself; [`Error::Workspace`] when the workspace cannot be opened.
    pub fn run(self) -> Result<Context, Error> {
        let files = Confined::open(self.workspace)?;
        let (mut targets, mut inventory, mut lineage) = (&[][..], &[][..], None);
        if let Some(requirements) = self.requirements {
            if let Some(source) = requirements.derived_from(&self.task.task_id) {
                return Err(Error::Lineage {
                    source_name: source.to_owned(),
                });
            }
            targets = &requirements.instruction_targets;
            inventory = &requirements.knowledge;
            lineage = Some(Lineage {
                task_sources: requirements.task_sources.clone(),
                source_exclusions: requirements.source_exclusions.clone(),
                check_lineage: requirements.check_lineage.clone(),
            });
        }
        let instructions = instructions::read(&files, targets)?;
        let knowledge = knowledge::read(&files, inventory)?;
        let content = json!({
            "schema": SCHEMA,
            "task_revision": self.task.revision,
            "prompt": self.task.prompt(),
            "instructions": instructions,
            "suites": self.suites,
            "lineage": lineage,
            "knowledge": knowledge,
        });
        Ok(Context {
            schema: SCHEMA,
            task_revision: self.task.revision,
            prompt: self.task.prompt().to_owned(),
            instructions,
            suites: self.suites,
            lineage,
            knowledge,
            digest: json::digest(&content),
        })
    }
}

impl Context {
    /// The instruction files and documents as one text for the model; empty without any.
    pub fn text(&self) -> String {
        let instructions = self.instructions.iter().map(|file| {
            let text = file.text.trim_end();
            format!("From {} (for {}):\n{text}", file.path, file.scope_in_words())
        });
        let documents = self.knowledge.iter().map(|document| {
            let (id, version, text) = (&document.id, document.version, document.text.trim_end());
            format!("Document {id}, version {version} ({}):\n{text}", document.path)
        });
        instructions.chain(documents).collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
