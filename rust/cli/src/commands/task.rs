//! `coder task`: which verb does what; list, show, view, artifact, export and verify are here, the others in files of their
//! own. Answers are JSON, and for a person on a terminal a short table; refusals are JSON on standard error with status 1.

mod archive;
mod check;
mod command;
mod export;
mod gc;
mod verify;

use crate::arguments::{ArtifactArguments, ListArguments, StoreArguments, TaskCommand, TaskName, ViewArguments};
use crate::output::{self, Failure};
use crate::surroundings;
use coder_digest::{BytePath, TaskId};
use coder_host::open_to_read;
use coder_journal::{Store, Summary};
use coder_trace::{Cursor, PageSize};
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
        TaskCommand::List(arguments) => list(&arguments),
        TaskCommand::Show(arguments) => show(&arguments),
        TaskCommand::View(arguments) => view(&arguments),
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

fn reading(arguments: &StoreArguments) -> Result<Store, Failure> {
    let path = surroundings::store(arguments.store.as_deref(), REFUSED)?;
    open_to_read(&path, surroundings::clock()).map_err(refused)
}

fn list(arguments: &ListArguments) -> Result<u8, Failure> {
    let store = reading(&arguments.store)?;
    let tasks = match arguments.all {
        true => store.list_all(),
        false => store.list(),
    };
    let tasks = tasks.map_err(refused)?;
    if arguments.store.json || !output::person_reads() {
        output::json(&tasks)?;
    } else {
        output::data(table(&tasks).as_bytes())?;
    }
    Ok(0)
}

fn table(tasks: &[Summary]) -> String {
    if tasks.is_empty() {
        return "No tasks.\n".to_owned();
    }
    let width = tasks
        .iter()
        .map(|task| task.task_id.as_str().len())
        .max()
        .unwrap_or_default();
    let line = |task: &Summary| {
        format!(
            "{:<width$}  {:<16}  {:<12}  {}\n",
            task.task_id,
            task.status.as_str(),
            task.checks.as_str(),
            task.title
        )
    };
    tasks.iter().map(line).collect()
}

fn show(arguments: &TaskName) -> Result<u8, Failure> {
    let store = reading(&arguments.store)?;
    output::json(&store.show(&task_id(arguments)?).map_err(refused)?)?;
    Ok(0)
}

fn view(arguments: &ViewArguments) -> Result<u8, Failure> {
    let store = reading(&arguments.name.store)?;
    let cursor: Option<Cursor> = arguments
        .cursor
        .as_deref()
        .map(|text| text.parse().map_err(|error: coder_trace::Error| refused(error)))
        .transpose()?;
    let size = PageSize::new(u64::from(arguments.limit)).map_err(refused)?;
    output::json(&coder_host::view(&store, &task_id(&arguments.name)?, cursor.as_ref(), size).map_err(refused)?)?;
    Ok(0)
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
