//! How a command of a person or a program reaches its task: as exact bytes, held against what the caller believes they are
//! before any store is opened, or as an ask at whatever revision the task is. Decides nothing about the task.

use crate::Error;
use crate::store_place::open_existing;
use coder_digest::{Clock, Identifier, TaskId};
use coder_journal::{Ask, Command, Receipt, Store};
use std::path::Path;
use std::sync::Arc;

/// The kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// A new task.
    Submit,
    /// Drop or stop one.
    Cancel,
    /// Replace its prompt.
    Correct,
    /// Queue another turn.
    Continue,
}

impl CommandKind {
    /// The action's `type` as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Cancel => "cancel",
            Self::Correct => "correct",
            Self::Continue => "continue",
        }
    }
}

/// Gives the store at `path` the exact command in `bytes`, which must be of `kind`. Only a submission may make a store.
///
/// # Errors
/// [`Error::ActionMismatch`] and the faults of the command itself before the store is looked for; [`Error::NoStore`]; the
/// journal's own errors.
pub fn send_exact(kind: CommandKind, bytes: &[u8], path: &Path, clock: Arc<dyn Clock>) -> Result<Receipt, Error> {
    let command = Command::parse(bytes)?;
    let found = command.action.name();
    if found != kind.name() {
        return Err(Error::ActionMismatch {
            found,
            expected: kind.name(),
        });
    }
    let store = match kind {
        CommandKind::Submit => Store::open(path, clock)?,
        CommandKind::Cancel | CommandKind::Correct | CommandKind::Continue => open_existing(path, clock)?,
    };
    Ok(store.command(bytes)?)
}

/// Asks `task` of the store at `path`, at whatever revision it is; see [`Store::ask`]. The same `command_id` makes it safe to
/// repeat; without one, it is made from `entropy`.
///
/// # Errors
/// [`Error::NoStore`]; the journal's own errors.
pub fn ask(
    task: &TaskId,
    ask: &Ask,
    command_id: Option<Identifier>,
    entropy: [u8; 16],
    path: &Path,
    clock: Arc<dyn Clock>,
) -> Result<Receipt, Error> {
    let command_id = match command_id {
        Some(command_id) => command_id,
        None => made_name(ask, entropy)?,
    };
    Ok(open_existing(path, clock)?.ask(&command_id, task, ask)?)
}

fn made_name(ask: &Ask, entropy: [u8; 16]) -> Result<Identifier, Error> {
    let kind = match ask {
        Ask::Cancel { .. } => CommandKind::Cancel,
        Ask::Correct { .. } => CommandKind::Correct,
        Ask::Continue { .. } => CommandKind::Continue,
    };
    let name = format!("{}-{:032x}", kind.name(), u128::from_be_bytes(entropy));
    Identifier::new(name).map_err(|_| {
        let (field, rule) = ("command_id", "must be an identifier");
        coder_journal::Error::CommandField { field, rule }.into()
    })
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
