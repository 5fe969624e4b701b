//! A task command, from exact bytes to a checked value (facts 1.1, 1.2). The low form is what the JSON says; the checked
//! form is the only one that reaches a task. Nothing here knows whether the task exists.

use crate::Error;
use crate::intent::{Intent, present};
use crate::limits;
use crate::task::Rules;
use coder_digest::{Identifier, TaskId, check_text, json};
use serde::Deserialize;

/// The schema of a command.
pub const COMMAND_SCHEMA: &str = "openagents.coder.task-command.v1";

/// A checked command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Unique in the store, across tasks and actions.
    pub command_id: Identifier,
    /// The task it is for.
    pub task_id: TaskId,
    /// What it asks.
    pub action: Action,
}

/// What a command asks of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Create the task; inert.
    Submit {
        /// What is to be done.
        intent: Box<Intent>,
    },
    /// Drop a queued task, or ask a running one to stop.
    Cancel {
        /// The revision the writer has seen.
        expected_revision: u64,
        /// Why.
        reason: String,
    },
    /// Replace the prompt.
    Correct {
        /// The revision the writer has seen.
        expected_revision: u64,
        /// The new prompt.
        prompt: String,
        /// Why.
        reason: String,
    },
    /// Queue another turn.
    Continue {
        /// The revision the writer has seen.
        expected_revision: u64,
        /// The prompt of the turn.
        prompt: String,
    },
}

impl Action {
    /// The action's `type` as written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Submit { .. } => "submit",
            Self::Cancel { .. } => "cancel",
            Self::Correct { .. } => "correct",
            Self::Continue { .. } => "continue",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandText {
    #[serde(rename = "schema")]
    _schema: String,
    command_id: Identifier,
    task_id: TaskId,
    #[serde(deserialize_with = "present")]
    expected_revision: Option<u64>,
    action: ActionText,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum ActionText {
    Submit { intent: Box<Intent> },
    Cancel { reason: String },
    Correct { prompt: String, reason: String },
    Continue { prompt: String },
}

impl Command {
    /// Reads a command from its exact bytes.
    ///
    /// # Errors
    /// `invalid_command` or `unsupported_schema`, naming the field and never its text.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse_under(Rules::CURRENT, bytes)
    }

    /// Reads a command as the rules say under which it was accepted: a grammar that becomes stricter must refuse new commands
    /// and not old history.
    pub(crate) fn parse_under(rules: Rules, bytes: &[u8]) -> Result<Self, Error> {
        match rules {
            Rules::Version1 => Self::parse_version_1(bytes),
        }
    }

    fn parse_version_1(bytes: &[u8]) -> Result<Self, Error> {
        let limit = json::Limit(limits::COMMAND_BYTES);
        let value = json::parse(bytes, limit)?;
        // Looked at before the shape, so that a command of a newer program is told from a malformed one.
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(COMMAND_SCHEMA) => {}
            Some(_) => {
                return Err(Error::CommandSchema {
                    expected: COMMAND_SCHEMA,
                });
            }
            None => return Err(field("schema", "must be a string naming the command's schema")),
        }
        // Looked at before the shape, because the parser's own message would quote an unknown name.
        match value.pointer("/action/type").and_then(serde_json::Value::as_str) {
            Some("submit" | "cancel" | "correct" | "continue") => {}
            Some(_) | None => {
                return Err(field("action.type", "must be submit, cancel, correct or continue"));
            }
        }
        check(json::parse_as(bytes, limit)?)
    }
}

fn check(text: CommandText) -> Result<Command, Error> {
    if text.command_id.as_str() == text.task_id.as_str() {
        return Err(field("command_id", "must differ from `task_id`"));
    }
    let revision = || {
        text.expected_revision
            .ok_or_else(|| field("expected_revision", "must be the revision that was seen"))
    };
    let action = match text.action {
        ActionText::Submit { intent } => {
            if text.expected_revision.is_some() {
                return Err(field("expected_revision", "must be null for a new task"));
            }
            intent.check()?;
            Action::Submit { intent }
        }
        ActionText::Cancel { reason } => {
            check_text("reason", &reason, limits::REASON_BYTES)?;
            Action::Cancel {
                expected_revision: revision()?,
                reason,
            }
        }
        ActionText::Correct { prompt, reason } => {
            check_text("prompt", &prompt, limits::PROMPT_BYTES)?;
            check_text("reason", &reason, limits::REASON_BYTES)?;
            Action::Correct {
                expected_revision: revision()?,
                prompt,
                reason,
            }
        }
        ActionText::Continue { prompt } => {
            check_text("prompt", &prompt, limits::PROMPT_BYTES)?;
            Action::Continue {
                expected_revision: revision()?,
                prompt,
            }
        }
    };
    Ok(Command {
        command_id: text.command_id,
        task_id: text.task_id,
        action,
    })
}

fn field(field: &'static str, rule: &'static str) -> Error {
    Error::CommandField { field, rule }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
