//! Putting tasks away, so that a store stays useful for years under its bounds: an archived task counts for none of them and
//! takes no step until it is restored. Nothing of it is removed or changed: it is shown, viewed and verified as before.

use crate::Error;
use crate::state::{Checks, Status};
use crate::store::{Current, Store};
use crate::task::Task;
use crate::write::{self, Room};
use coder_digest::{TaskId, Timestamp};
use rusqlite::{Transaction, params};

impl Store {
    /// Puts `task` away; does nothing where it is already. Returns when it was put away.
    ///
    /// # Errors
    /// `not_found`; `invalid_transition` unless it is finished or cancelled and no checks run; `disk_full`, `store_busy`,
    /// `reopen_required`, `io`.
    pub fn archive(&self, task: &TaskId) -> Result<Timestamp, Error> {
        // Putting away makes room, so it may use the room held back.
        self.write(Room::Reserve, |transaction| {
            let current = self.required(transaction, task)?;
            if let Some(at) = current.archived {
                return Ok(at);
            }
            if !may_be_put_away(&current.task) {
                return Err(Error::transition(
                    task,
                    "only a finished or cancelled task is archived, and not while its checks run",
                ));
            }
            let now = self.shared.clock.now();
            self.set_archived(transaction, task, Some(now))?;
            Ok(now)
        })
    }

    /// Takes `task` out again; does nothing where it is not away.
    ///
    /// # Errors
    /// `not_found`; `limit_exceeded` where the store has no room for it; else as [`Store::archive`].
    pub fn restore(&self, task: &TaskId) -> Result<(), Error> {
        self.write(Room::Ordinary, |transaction| {
            let current = self.required(transaction, task)?;
            if current.archived.is_none() {
                return Ok(());
            }
            write::bound_store(self, transaction, 1, current.sequence - current.events)?;
            self.set_archived(transaction, task, None)
        })
    }

    /// The tasks that may be put away and whose last record is from before `before`, in the order they were submitted.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn settled_before(&self, before: Timestamp) -> Result<Vec<TaskId>, Error> {
        let names: Vec<String> = self.query(&self.reader(), "look for settled tasks", |connection| {
            connection
                .prepare_cached(
                    "SELECT task_id FROM tasks WHERE archived IS NULL AND status IN (?1, ?2) AND checks <> ?3
                     AND coalesce(
                         (SELECT at FROM events WHERE events.task_id = tasks.task_id AND events.sequence = tasks.sequence),
                         (SELECT at FROM commands WHERE commands.task_id = tasks.task_id AND commands.sequence = tasks.sequence)
                     ) < ?4 ORDER BY rowid",
                )?
                .query_map(
                    params![
                        Status::Finished.as_str(),
                        Status::Cancelled.as_str(),
                        Checks::Running.as_str(),
                        before.0
                    ],
                    |row| row.get(0),
                )?
                .collect()
        })?;
        names
            .into_iter()
            .map(|name| {
                name.parse()
                    .map_err(|_| self.corrupt("the name of a task cannot be read"))
            })
            .collect()
    }

    fn set_archived(&self, transaction: &Transaction<'_>, task: &TaskId, at: Option<Timestamp>) -> Result<(), Error> {
        self.query(transaction, "archive the task", |connection| {
            connection
                .prepare_cached("UPDATE tasks SET archived = ?2 WHERE task_id = ?1")?
                .execute(params![task.as_str(), at.map(|at| at.0)])
                .map(drop)
        })
    }
}

impl Current {
    /// Refuses a step on a task that was put away.
    pub(crate) fn require_in_use(&self) -> Result<(), Error> {
        match self.archived {
            None => Ok(()),
            Some(_) => Err(Error::transition(
                &self.task.task_id,
                "it is archived; `coder task restore` takes it out again",
            )),
        }
    }
}

fn may_be_put_away(task: &Task) -> bool {
    task.checks != Checks::Running
        && match task.status {
            Status::Finished | Status::Cancelled => true,
            Status::Queued | Status::Running | Status::CancelRequested | Status::Unknown => false,
        }
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
