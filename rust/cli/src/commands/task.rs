//! `coder task`: which verb does what; artifact is here, the others in files of their own. Answers are JSON, and for a
//! person on a terminal in words; refusals are JSON on standard error with status 1.

mod archive;
mod bounded;
mod check;
mod command;
mod export;
mod gc;
mod look;
mod recover;
mod steer;
mod verify;

use crate::arguments::{ArtifactArguments, StoreArguments, TaskCommand, TaskName};
use crate::output::{self, Failure};
use crate::surroundings;
use coder_digest::{BytePath, TaskId};
use coder_host::open_to_read;
use coder_journal::Store;
use serde_json::json;
use std::os::unix::ffi::OsStrExt as _;

const REFUSED: u8 = 1;
const WRONG_USE: u8 = 64;

pub(crate) fn task(verb: TaskCommand) -> Result<u8, Failure> {
    match verb {
        TaskCommand::Submit(arguments) => command::submit(&arguments),
        TaskCommand::Cancel(arguments) => command::cancel(&arguments),
        TaskCommand::Correct(arguments) => command::correct(&arguments),
        TaskCommand::Continue(arguments) => command::follow_up(&arguments),
        TaskCommand::Execute(arguments) => bounded::execute(&arguments),
        TaskCommand::Start(arguments) => bounded::start(&arguments),
        TaskCommand::Steer(arguments) => steer::steer(&arguments),
        TaskCommand::Recover(arguments) => recover::recover(&arguments),
        TaskCommand::List(arguments) => look::list(&arguments),
        TaskCommand::Show(arguments) => look::show(&arguments),
        TaskCommand::View(arguments) => look::view(&arguments),
        TaskCommand::Artifact(arguments) => artifact(&arguments),
        TaskCommand::Export(arguments) => export::export(&arguments),
        TaskCommand::Verify(arguments) => verify::verify(&arguments),
        TaskCommand::Check(arguments) => check::check(&arguments),
        TaskCommand::Archive(arguments) => archive::archive(&arguments),
        TaskCommand::Restore(arguments) => archive::restore(&arguments),
        TaskCommand::Gc(arguments) => gc::gc(&arguments),
    }
}

fn refused(error: impl Into<coder_host::Error>) -> Failure {
    Failure::of(&error.into(), REFUSED)
}

fn task_id(name: &TaskName) -> Result<TaskId, Failure> {
    TaskId::new(&name.task).map_err(|error| Failure::new("usage", error.to_string(), WRONG_USE))
}

fn writing(arguments: &StoreArguments) -> Result<Store, Failure> {
    let path = surroundings::store(arguments.store.as_deref(), REFUSED)?;
    coder_host::open_existing(&path, surroundings::clock()).map_err(refused)
}

fn reading(arguments: &StoreArguments) -> Result<Store, Failure> {
    let path = surroundings::store(arguments.store.as_deref(), REFUSED)?;
    open_to_read(&path, surroundings::clock()).map_err(refused)
}

fn artifact(arguments: &ArtifactArguments) -> Result<u8, Failure> {
    let store = reading(&arguments.name.store)?;
    let Some(path) = &arguments.path else {
        output::data(&coder_host::patch(&store, &task_id(&arguments.name)?).map_err(refused)?)?;
        return Ok(0);
    };
    let path = BytePath::new(path.as_bytes());
    let bytes = coder_host::artifact(&store, &task_id(&arguments.name)?, &path).map_err(refused)?;
    if arguments.raw {
        output::data(&bytes)?;
    } else {
        let digest = coder_digest::Digest::of(&bytes);
        output::json(&json!({ "path": path, "digest": digest, "bytes": coder_trace::Bytes(bytes) }))?;
    }
    Ok(0)
}
