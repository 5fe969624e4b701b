//! Closing what a vanished owner left open (facts 2.7). Kills nothing and runs nothing again. A run is called ended only
//! where the host proves that nothing of it is left: the free lock alone proves that the owner is gone, not its children.

use crate::Error;
use crate::event::{CostStatus, Event, OWNER_PROCESS_ENDED, RunResult};
use crate::owner::{Liveness, lock_name};
use crate::state::{Checks, Status};
use crate::store::Store;
use crate::task::Task;
use coder_digest::{Digest, TaskId};
use std::time::Duration;

/// Whether the processes of a run are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleanup {
    /// They are, proved as said: an emptied control group, an ended pid namespace.
    ProvedClear {
        /// How it was proved.
        how: String,
    },
    /// Not known.
    Unknown,
}

/// What the host finds of a run whose owner is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// Whether its processes are gone.
    pub cleanup: Cleanup,
    /// Digest of whatever bytes the trace has, if there is one.
    pub trace_digest: Option<Digest>,
}

/// What [`Store::settle`] did.
#[derive(Debug, Clone, PartialEq)]
pub enum Settled {
    /// Nothing was open.
    NothingOpen(Box<Task>),
    /// The owner lives.
    OwnerAlive,
    /// A result or an unavailable verdict was recorded.
    Closed(Box<Task>),
    /// The run stays unknown and keeps its tree until a later settle can prove it gone.
    Unknown(Box<Task>),
}

impl Store {
    /// Closes what a vanished owner of `task` left: a run gets the ending `owner_process_ended` if `inspect` proves it gone and
    /// becomes unknown otherwise (to be settled again with a proof); checks become unavailable. `inspect` is called only for
    /// an open run, while the owner's lock is held, so that what it finds cannot change owner underneath.
    ///
    /// # Errors
    /// `not_found`, `corrupt_store`, `store_busy`, `disk_full`, `io`.
    pub fn settle(&self, task: &TaskId, inspect: impl FnOnce(&Task) -> Remains) -> Result<Settled, Error> {
        let shown = self.show(task)?;
        if !is_open(&shown) {
            return Ok(Settled::NothingOpen(Box::new(shown)));
        }
        // Looked at first, so that a sweep over many living tasks does not wait for each.
        if self.liveness(task)? == Liveness::Owned {
            return Ok(Settled::OwnerAlive);
        }
        let owner = match self.own(task, Duration::ZERO) {
            Ok(owner) => owner,
            Err(Error::StoreBusy { path }) if path.ends_with(lock_name(task)) => {
                return Ok(Settled::OwnerAlive);
            }
            Err(error) => return Err(error),
        };
        // Again under the lock: the owner may have closed it itself before it let go.
        let shown = self.show(task)?;
        if !is_open(&shown) {
            return Ok(Settled::NothingOpen(Box::new(shown)));
        }
        if shown.checks == Checks::Running {
            let next = owner.record(&Event::CheckOwnerLost {}, None)?;
            return Ok(Settled::Closed(Box::new(next)));
        }
        let remains = inspect(&shown);
        match remains.cleanup {
            Cleanup::ProvedClear { how } => {
                let result = Box::new(ended(&shown, how, remains.trace_digest));
                let next = owner.record(&Event::Result { result }, None)?;
                Ok(Settled::Closed(Box::new(next)))
            }
            // No result: one that says "not clear" is final, and would keep the tree for ever.
            Cleanup::Unknown if shown.status == Status::Unknown => Ok(Settled::Unknown(Box::new(shown))),
            Cleanup::Unknown => {
                let next = owner.record(&Event::OwnerLost {}, None)?;
                Ok(Settled::Unknown(Box::new(next)))
            }
        }
    }

    /// As [`Store::settle`], for a person who asks for it: a live owner is refused.
    ///
    /// # Errors
    /// As [`Store::settle`]; `store_busy` where the owner lives.
    pub fn recover(&self, task: &TaskId, inspect: impl FnOnce(&Task) -> Remains) -> Result<Task, Error> {
        match self.settle(task, inspect)? {
            Settled::NothingOpen(task) | Settled::Closed(task) | Settled::Unknown(task) => Ok(*task),
            Settled::OwnerAlive => Err(Error::StoreBusy {
                path: self.shared.directory.join(&lock_name(task)),
            }),
        }
    }
}

/// Whether something of the task waits for its owner.
fn is_open(task: &Task) -> bool {
    let run_without_result = task.run.as_ref().is_some_and(|run| run.result.is_none());
    run_without_result || task.checks == Checks::Running
}

fn ended(task: &Task, how: String, trace_digest: Option<Digest>) -> RunResult {
    RunResult {
        ending: OWNER_PROCESS_ENDED.to_owned(),
        reason: None,
        exit_code: None,
        stop_requested: task.cancellation_reason.is_some(),
        group_clear: true,
        cleanup: Some(how),
        elapsed_ms: None,
        trace_digest,
        candidate_snapshot: None,
        artifact_file: None,
        artifact_digest: None,
        git_restored: Vec::new(),
        appeared: Vec::new(),
        auto_exec: Vec::new(),
        auto_exec_omitted: 0,
        output_incomplete: true,
        cost_status: CostStatus::Unknown,
        cost_microusd: None,
        engine_microusd: None,
        jev_microusd: None,
        payer: None,
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
