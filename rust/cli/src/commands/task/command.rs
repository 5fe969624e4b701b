//! `coder task submit|cancel|correct|continue`: an exact command from a file, or what it asks in words.

use crate::arguments::{CancelArguments, CommandFile, ContinueArguments, CorrectArguments, Prompt, StoreArguments};
use crate::commands::repository;
use crate::output::{self, Failure};
use crate::surroundings;
use coder_digest::{Identifier, TaskId};
use coder_host::CommandKind;
use coder_journal::Ask;
use std::path::Path;

use super::{REFUSED, WRONG_USE, refused};

pub(super) fn submit(arguments: &CommandFile) -> Result<u8, Failure> {
    exact(CommandKind::Submit, &arguments.file, &arguments.store)
}

pub(super) fn cancel(arguments: &CancelArguments) -> Result<u8, Failure> {
    if let Some(file) = &arguments.exact.file {
        return exact(CommandKind::Cancel, file, &arguments.exact.store);
    }
    let reason = arguments.reason.clone().unwrap_or_default();
    ask(&arguments.exact, &Ask::Cancel { reason })
}

pub(super) fn correct(arguments: &CorrectArguments) -> Result<u8, Failure> {
    if let Some(file) = &arguments.exact.file {
        return exact(CommandKind::Correct, file, &arguments.exact.store);
    }
    let reason = arguments.reason.clone().unwrap_or_default();
    let prompt = prompt(&arguments.prompt)?;
    ask(&arguments.exact, &Ask::Correct { prompt, reason })
}

pub(super) fn follow_up(arguments: &ContinueArguments) -> Result<u8, Failure> {
    if let Some(file) = &arguments.exact.file {
        return exact(CommandKind::Continue, file, &arguments.exact.store);
    }
    let prompt = prompt(&arguments.prompt)?;
    ask(&arguments.exact, &Ask::Continue { prompt })
}

fn exact(kind: CommandKind, file: &Path, store: &StoreArguments) -> Result<u8, Failure> {
    let bytes = repository::read(file, "read_command", REFUSED)?;
    let store = surroundings::store(store.store.as_deref(), REFUSED)?;
    output::json(&coder_host::send_exact(kind, &bytes, &store, surroundings::clock()).map_err(refused)?)?;
    Ok(0)
}

fn ask(arguments: &crate::arguments::Addressed, asked: &Ask) -> Result<u8, Failure> {
    let usage = |error: coder_digest::IdentifierError| Failure::new("usage", error.to_string(), WRONG_USE);
    let task = TaskId::new(arguments.task.as_deref().unwrap_or_default()).map_err(usage)?;
    let command_id = arguments.command_id.as_deref().map(Identifier::new);
    let command_id = command_id.transpose().map_err(usage)?;
    let store = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let receipt = coder_host::ask(
        &task,
        asked,
        command_id,
        surroundings::entropy()?,
        &store,
        surroundings::clock(),
    );
    output::json(&receipt.map_err(refused)?)?;
    Ok(0)
}

fn prompt(arguments: &Prompt) -> Result<String, Failure> {
    match (&arguments.prompt, &arguments.prompt_file) {
        (Some(prompt), _) => Ok(prompt.clone()),
        (None, Some(file)) => String::from_utf8(repository::read(file, "read_prompt", REFUSED)?)
            .map_err(|_| Failure::new("read_prompt", "the prompt is not UTF-8", REFUSED)),
        (None, None) => Err(Failure::new("usage", "a prompt is needed", WRONG_USE)),
    }
}
