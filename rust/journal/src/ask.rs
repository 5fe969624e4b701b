//! Commands made here rather than by their writer, at whatever revision the task is (trap b): a person who says "cancel it"
//! has seen no revision, and one looked up beforehand is stale as soon as the owner records something. The command is made
//! inside the transaction that accepts it, so no race is left to lose. Recorded like any exact command.

use crate::Error;
use crate::command::{COMMAND_SCHEMA, Command};
use crate::store::Store;
use crate::task::Receipt;
use crate::write::Room;
use coder_digest::{Digest, Identifier, TaskId, json};
use rusqlite::{OptionalExtension as _, Transaction};
use serde::Serialize;

/// What is asked of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Drop it if it is queued, stop it if it runs.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Replace its prompt.
    Correct {
        /// The new prompt.
        prompt: String,
        /// Why.
        reason: String,
    },
    /// Queue another turn.
    Continue {
        /// The prompt of the turn.
        prompt: String,
    },
}

impl Ask {
    fn room(&self) -> Room {
        match self {
            Self::Cancel { .. } => Room::Reserve,
            Self::Correct { .. } | Self::Continue { .. } => Room::Ordinary,
        }
    }
}

impl Store {
    /// Asks `task` at whatever revision it is. The same id, task and ask again return the first receipt and change nothing.
    ///
    /// # Errors
    /// As [`Store::command`], but for `revision_mismatch`, which cannot happen.
    pub fn ask(&self, command_id: &Identifier, task: &TaskId, ask: &Ask) -> Result<Receipt, Error> {
        self.write(ask.room(), |transaction| {
            let revision = match self.revision_asked_at(transaction, command_id)? {
                Some(earlier) => earlier,
                None => self.required(transaction, task)?.task.revision,
            };
            let request = json::canonical(&serde_json::json!({
                "schema": COMMAND_SCHEMA,
                "command_id": command_id,
                "task_id": task,
                "expected_revision": revision,
                "action": ask,
            }));
            let command = Command::parse(request.as_bytes())?;
            self.accept(transaction, &command, &request, Digest::of(request.as_bytes()))
        })
    }

    /// [`Store::ask`] to cancel.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub fn cancel_now(&self, command_id: &Identifier, task: &TaskId, reason: &str) -> Result<Receipt, Error> {
        let reason = reason.to_owned();
        self.ask(command_id, task, &Ask::Cancel { reason })
    }

    /// The revision of an earlier command with this id, at which the same ask gives the same bytes.
    fn revision_asked_at(&self, transaction: &Transaction<'_>, command: &Identifier) -> Result<Option<u64>, Error> {
        let earlier: Option<String> = self.query(transaction, "look for the command", |connection| {
            connection
                .prepare_cached("SELECT request FROM commands WHERE command_id = ?1")?
                .query_row([command.as_str()], |row| row.get(0))
                .optional()
        })?;
        Ok(earlier.map(|request| {
            serde_json::from_str::<serde_json::Value>(&request)
                .ok()
                .and_then(|request| request.get("expected_revision")?.as_u64())
                .unwrap_or_default()
        }))
    }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
