//! A grant held against the task it names, and the ownership of that task. Looks at no workspace.

use crate::Error;
use crate::configuration::Configuration;
use crate::grant::Grant;
use coder_digest::TaskId;
use coder_journal::{Owner, REPOSITORY, Status, Store, Task};
use coder_process::Cancel;
use std::time::{Duration, Instant};

/// How long a new owner waits for the task's present one.
const OWNER_WAIT: Duration = Duration::from_secs(120);
/// How long at once, so that a request to stop is noticed.
const OWNER_WAIT_SLICE: Duration = Duration::from_millis(50);

/// A grant is for this task, and offers the model it requests.
pub(crate) fn compare_repository(grant: &Grant, task: &Task, configuration: &Configuration) -> Result<(), Error> {
    compare(grant, task, REPOSITORY)?;
    let granted = &configuration.primary.model;
    match &task.intent.configuration.model {
        Some(model) if configuration.routes().any(|route| route.model == *model) => Ok(()),
        Some(model) => Err(Error::mismatch("model", granted, "the task's model", model)),
        None => Err(Error::mismatch("model", granted, "the task's model", &"null")),
    }
}

/// A grant is for exactly this queued task, at this revision, and for the adapter it requests.
pub(crate) fn compare(grant: &Grant, task: &Task, adapter: &'static str) -> Result<(), Error> {
    queued(task)?;
    if grant.intent_digest != task.intent_digest {
        return Err(Error::mismatch(
            "intent_digest",
            &grant.intent_digest,
            "the task's",
            &task.intent_digest,
        ));
    }
    if grant.expected_revision != task.revision {
        return Err(Error::mismatch(
            "expected_revision",
            &grant.expected_revision,
            "the task's revision",
            &task.revision,
        ));
    }
    let requested = &task.intent.configuration.adapter;
    if requested.as_str() != adapter {
        return Err(Error::mismatch(
            "adapter_configuration",
            &adapter,
            "the task's adapter",
            requested,
        ));
    }
    Ok(())
}

/// Refuses a task that no grant can start any more.
fn queued(task: &Task) -> Result<(), Error> {
    if task.status == Status::Queued && task.run.is_none() {
        return Ok(());
    }
    Err(Error::NotQueued {
        task: task.task_id.clone(),
        status: task.status.as_str(),
    })
}

/// Becomes the owner of a queued task, waiting for its present one. A stop, or whatever made it no longer queued, ends the
/// wait.
pub(crate) fn own(store: &Store, task: &TaskId, cancel: &Cancel) -> Result<Owner, Error> {
    let begun = Instant::now();
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        match store.own(task, OWNER_WAIT_SLICE) {
            Err(error) if error.code() == "store_busy" && begun.elapsed() < OWNER_WAIT => {
                queued(&store.show(task)?)?;
            }
            done => return Ok(done?),
        }
    }
}
