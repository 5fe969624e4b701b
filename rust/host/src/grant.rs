//! The execution grant: what an operator allows one task to do, once, at one revision.
//! Bytes become a [`Grant`] in two steps: strict JSON of a closed shape, then the bounds of each field. A `Grant` is
//! checked data, not yet authority: nothing acts on it before admission compared it with the task, the workspace and
//! the machine. Implements the grant template of the repository adapter's specification.

use crate::Error;
use crate::configuration::{Configuration, ConfigurationText, Knowledge};
use crate::limits::Limits;
use crate::requirements::Requirements;
use coder_boundary::{Level, Resources};
use coder_digest::{Digest, TaskId, json};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The schema every grant names.
pub const SCHEMA: &str = "openagents.coder.task-execution-grant.v1";
/// Bounds of `stream_bytes`: 1 KiB to 1 MiB.
const STREAM_BYTES: std::ops::RangeInclusive<u64> = 1024..=1024 * 1024;
/// Bounds of `memory_bytes`: 64 MiB to 8 GiB.
const MEMORY_BYTES: std::ops::RangeInclusive<u64> = 64 * 1024 * 1024..=8 * 1024 * 1024 * 1024;
/// Bounds of a bounded command's `wall_seconds`.
const WALL_SECONDS: std::ops::RangeInclusive<u64> = 1..=3600;
/// The most arguments.
const ARGUMENTS: usize = 128;
/// The longest path, in bytes.
const PATH_BYTES: usize = 4096;

/// The grant as written: closed, unchecked beyond its shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantText {
    schema: String,
    task_id: TaskId,
    intent_digest: Digest,
    expected_revision: u64,
    #[serde(default)]
    expected_source_snapshot: Option<Digest>,
    program: String,
    arguments: Vec<String>,
    write_workspace: bool,
    /// Of a bounded command. On an agent's run it is a limit of earlier versions: read, without effect, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wall_seconds: Option<u64>,
    stream_bytes: u64,
    memory_bytes: u64,
    /// The least that is accepted; everything when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    require: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
    #[serde(default)]
    requirements: Option<serde_json::Value>,
    #[serde(default)]
    adapter_configuration: Option<ConfigurationText>,
}

/// Whether commands may change the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceAccess {
    /// The workspace is read-only.
    Read,
    /// Commands may write below the workspace.
    Write,
}

/// What a grant asks to be run.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// One program with its arguments, once, for at most so many seconds.
    BoundedCommand {
        /// 1 to 3600.
        wall_seconds: u64,
    },
    /// The agent loop with this adapter configuration.
    Repository(Box<Configuration>),
}

/// A grant whose every field is inside its bounds, with the exact bytes it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// The exact text.
    pub text: String,
    /// The digest of the exact bytes.
    pub digest: Digest,
    /// The task it is for.
    pub task_id: TaskId,
    /// The task's immutable intent.
    pub intent_digest: Digest,
    /// The task's revision at admission.
    pub expected_revision: u64,
    /// The pinned source snapshot, if the operator pins one.
    pub expected_source_snapshot: Option<Digest>,
    /// The program, an absolute path without `.` or `..`.
    pub program: PathBuf,
    /// Its arguments; empty for a repository run.
    pub arguments: Vec<String>,
    /// Whether the workspace may be written.
    pub workspace_access: WorkspaceAccess,
    /// The most bytes retained of a command's standard error, and of the tail of its standard output.
    pub stream_bytes: u64,
    /// The memory bound of a command's processes, in bytes.
    pub memory_bytes: u64,
    /// The least level of the boundary that is accepted.
    pub require: Level,
    /// Further bounds.
    pub limits: Limits,
    /// What the candidate must meet, if the operator pins it.
    pub requirements: Option<Requirements>,
    /// What is to be run.
    pub work: Work,
}

impl Grant {
    /// The bounds of every command.
    pub(crate) fn resources(&self) -> Resources {
        self.limits.with_memory(self.memory_bytes)
    }

    /// Reads a grant from its exact bytes (at most 64 KiB of strict JSON).
    ///
    /// # Errors
    /// [`Error::GrantText`] for what is not bounded strict JSON, [`Error::GrantShape`] for a shape this version does
    /// not know (as when a newer program wrote it), [`Error::GrantField`] for a field outside its bounds.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let written: GrantText = json::parse_as(bytes, json::Limit::COMMAND).map_err(|source| {
            if source.is_shape() {
                Error::GrantShape { source }
            } else {
                Error::GrantText { source }
            }
        })?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| Error::GrantText {
            source: json::Error::NotUtf8 {
                offset: error.utf8_error().valid_up_to(),
            },
        })?;
        Self::check(written, text)
    }

    fn check(written: GrantText, text: String) -> Result<Self, Error> {
        if written.schema != SCHEMA {
            return Err(Error::UnsupportedSchema {
                what: "grant",
                expected: SCHEMA,
            });
        }
        if written.expected_revision == 0 {
            return Err(field(
                "expected_revision",
                "a revision begins at 1; read it with `coder task show`",
            ));
        }
        within("stream_bytes", written.stream_bytes, STREAM_BYTES)?;
        within("memory_bytes", written.memory_bytes, MEMORY_BYTES)?;
        let limits = written.limits.unwrap_or_default();
        limits.check()?;
        let program = absolute_path("program", &written.program)?;
        if written.arguments.len() > ARGUMENTS {
            return Err(field("arguments", "at most 128 arguments are allowed"));
        }
        if written.arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(field("arguments", "an argument holds a NUL byte"));
        }
        let requirements = written.requirements.as_ref().map(Requirements::parse).transpose()?;
        let work = match written.adapter_configuration {
            None => {
                let seconds = written.wall_seconds.unwrap_or(0);
                within("wall_seconds", seconds, WALL_SECONDS)?;
                Work::BoundedCommand { wall_seconds: seconds }
            }
            Some(configuration) => {
                if !written.arguments.is_empty() {
                    return Err(field(
                        "arguments",
                        "a repository run takes none; the host supplies each script",
                    ));
                }
                let configuration = configuration.check()?;
                let documents = requirements
                    .as_ref()
                    .map_or(0, |requirements| requirements.knowledge.len());
                check_knowledge(configuration.knowledge, documents)?;
                Work::Repository(Box::new(configuration))
            }
        };
        Ok(Self {
            digest: Digest::of(text.as_bytes()),
            text,
            task_id: written.task_id,
            intent_digest: written.intent_digest,
            expected_revision: written.expected_revision,
            expected_source_snapshot: written.expected_source_snapshot,
            program,
            arguments: written.arguments,
            workspace_access: if written.write_workspace {
                WorkspaceAccess::Write
            } else {
                WorkspaceAccess::Read
            },
            stream_bytes: written.stream_bytes,
            memory_bytes: written.memory_bytes,
            require: written.require.unwrap_or_default(),
            limits,
            requirements,
            work,
        })
    }
}

/// What [`write()`] puts into a new repository grant.
#[derive(Debug, Clone)]
pub struct NewGrant<'a> {
    /// The accepted task.
    pub task_id: &'a TaskId,
    /// Its intent digest.
    pub intent_digest: Digest,
    /// Its revision.
    pub expected_revision: u64,
    /// The snapshot to pin, if any.
    pub expected_source_snapshot: Option<Digest>,
    /// The shell.
    pub program: &'a Path,
    /// Whether the workspace may be written.
    pub workspace_access: WorkspaceAccess,
    /// The memory bound of a command's processes, in bytes.
    pub memory_bytes: u64,
    /// The least level of the boundary that is accepted.
    pub require: Level,
    /// Further bounds.
    pub limits: Limits,
    /// What the candidate must meet, if it is pinned.
    pub requirements: Option<&'a serde_json::Value>,
    /// The adapter configuration.
    pub configuration: &'a Configuration,
}

/// Writes the exact bytes of a grant and reads them back, so that what is written is known to be admissible in form.
///
/// # Errors
/// As [`Grant::parse`]; [`Error::GrantField`] when the program's path is not UTF-8.
pub fn write(new: &NewGrant<'_>) -> Result<Grant, Error> {
    let program = new
        .program
        .to_str()
        .ok_or_else(|| field("program", "the path is not UTF-8"))?;
    let written = GrantText {
        schema: SCHEMA.to_owned(),
        task_id: new.task_id.clone(),
        intent_digest: new.intent_digest,
        expected_revision: new.expected_revision,
        expected_source_snapshot: new.expected_source_snapshot,
        program: program.to_owned(),
        arguments: Vec::new(),
        write_workspace: new.workspace_access == WorkspaceAccess::Write,
        wall_seconds: None,
        stream_bytes: 64 * 1024,
        memory_bytes: new.memory_bytes,
        // What is as always is left out, so that the bytes of earlier grants stay.
        require: (new.require != Level::default()).then_some(new.require),
        limits: (!new.limits.is_empty()).then_some(new.limits),
        requirements: new.requirements.cloned(),
        adapter_configuration: Some(new.configuration.to_text()?),
    };
    let text = serde_json::to_string_pretty(&written).map_err(|error| Error::GrantShape {
        source: json::Error::Shape {
            reason: error.to_string(),
        },
    })?;
    Grant::parse(text.as_bytes())
}

pub(crate) fn field(name: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::GrantField {
        field: name.into(),
        reason: reason.into(),
    }
}

/// The mode and the inventory of documents say the same.
fn check_knowledge(mode: Knowledge, documents: usize) -> Result<(), Error> {
    match (mode, documents) {
        (Knowledge::Off, 0) => Ok(()),
        (Knowledge::Off, _) => Err(field(
            "knowledge",
            "`off` gives the model no documents, and the requirements name some: use \"frozen-context\"",
        )),
        (Knowledge::FrozenContext, 0) => Err(field(
            "knowledge",
            "`frozen-context` needs documents in the requirements' `knowledge`: use \"off\"",
        )),
        (Knowledge::FrozenContext, _) => Ok(()),
    }
}

pub(crate) fn within(name: &str, value: u64, bounds: std::ops::RangeInclusive<u64>) -> Result<(), Error> {
    if bounds.contains(&value) {
        Ok(())
    } else {
        Err(field(
            name,
            format!("{value} is outside {} to {}", bounds.start(), bounds.end()),
        ))
    }
}

/// An absolute path of at most 4096 bytes without NUL, `.`, `..` or an empty part, so that one place has one spelling.
pub(crate) fn absolute_path(name: impl Into<String>, text: &str) -> Result<PathBuf, Error> {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    let parts = text.strip_prefix('/');
    if parts.is_some_and(|parts| parts.split('/').all(plain)) && text.len() <= PATH_BYTES && !text.contains('\0') {
        Ok(PathBuf::from(text))
    } else {
        Err(field(
            name,
            "an absolute path of at most 4096 bytes without `.`, `..` or an empty part is needed",
        ))
    }
}

#[cfg(test)]
#[path = "grant_property_tests.rs"]
mod property_tests;
#[cfg(test)]
#[path = "grant_tests.rs"]
mod tests;
