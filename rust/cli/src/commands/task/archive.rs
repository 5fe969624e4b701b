//! `coder task archive|restore`: what was put away or taken out again, as small JSON objects.

use crate::arguments::{ArchiveArguments, TaskName};
use crate::output::{self, Failure};
use crate::surroundings;
use serde_json::json;

use super::{REFUSED, WRONG_USE, refused, task_id};
use coder_digest::TaskId;

pub(super) fn archive(arguments: &ArchiveArguments) -> Result<u8, Failure> {
    let named: Result<Vec<TaskId>, _> = arguments.tasks.iter().map(TaskId::new).collect();
    let named = named.map_err(|error| Failure::new("usage", error.to_string(), WRONG_USE))?;
    let path = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let archived = coder_host::archive(&path, surroundings::clock(), &named, arguments.older_than).map_err(refused)?;
    output::json(&archived)?;
    Ok(0)
}

pub(super) fn restore(arguments: &TaskName) -> Result<u8, Failure> {
    let task = task_id(arguments)?;
    let path = surroundings::store(arguments.store.store.as_deref(), REFUSED)?;
    let store = coder_host::open_existing(&path, surroundings::clock()).map_err(refused)?;
    store.restore(&task).map_err(refused)?;
    output::json(&json!({ "task_id": task, "archived_at": null }))?;
    Ok(0)
}
