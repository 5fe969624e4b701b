//! Owning a task: the right to record what its run does. An owner is whoever holds the lock on `owner-<task>.lock`, and for
//! as long as it holds it; a process id proves nothing, because ids are used again. What an owner left behind when it went
//! is closed by `settle`.

use crate::database::{self, Access};
use crate::directory::Missing;
use crate::event::Event;
use crate::state::Status;
use crate::store::Store;
use crate::task::Task;
use crate::{Error, Fault};
use coder_digest::TaskId;
use rusqlite::Connection;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// How often a lock file that could not be opened is tried again.
const DOUBTS: u32 = 50;
/// Before it is tried again.
const PAUSE: Duration = Duration::from_millis(1);
/// A look at the lock by somebody else lasts microseconds; waiting this long at least keeps it from being taken for an owner.
const LEAST_WAIT: Duration = Duration::from_millis(100);

pub(crate) fn lock_name(task: &TaskId) -> String {
    format!("owner-{task}.lock")
}

/// The task whose lock file has this name.
pub(crate) fn locked_task(name: &str) -> Option<TaskId> {
    TaskId::new(name.strip_prefix("owner-")?.strip_suffix(".lock")?).ok()
}

/// Whether a task has a live owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Somebody holds the lock.
    Owned,
    /// Nobody does.
    Free,
}

/// The held right to record events of one task. Dropping it, or dying, gives the right up.
#[derive(Debug)]
pub struct Owner {
    store: Store,
    task: TaskId,
    /// Opened at the first look: not every owner asks whether to stop.
    watch: Mutex<Option<Watch>>,
    // Closed at exec, so no program this process starts inherits the ownership.
    _lock: File,
}

#[derive(Debug)]
struct Watch {
    connection: Connection,
    seen: Option<i64>,
    requested: bool,
}

impl Store {
    /// Takes ownership of `task`, waiting up to `wait` (at least 0.1 s) for its present owner. The task is verified first.
    ///
    /// # Errors
    /// `not_found`, `store_busy` where the owner lives on, `corrupt_store` where the task's records are at fault or it was
    /// owned before and its lock file is missing, `unsafe_path`, `io`.
    pub fn own(&self, task: &TaskId, wait: Duration) -> Result<Owner, Error> {
        self.require_writer()?;
        let shown = self.show(task)?;
        let lock = self.lock(&shown, database::tries_in(wait.max(LEAST_WAIT)))?;
        let faults = self.verify_to_own(task)?;
        Fault::refuse_newer(task, &faults)?;
        if let Some(fault) = faults.first() {
            return Err(self.corrupt(format!("task {task}: {}", describe(fault))));
        }
        Ok(Owner {
            store: self.clone(),
            task: task.clone(),
            watch: Mutex::new(None),
            _lock: lock,
        })
    }

    /// Whether `task` has a live owner, by its lock.
    ///
    /// # Errors
    /// `not_found`, `corrupt_store` where the lock file of a task with a run is missing, `io`.
    pub fn liveness(&self, task: &TaskId) -> Result<Liveness, Error> {
        let shown = self.show(task)?;
        let Some(file) = self.shared.directory.readable(&lock_name(task))? else {
            return match shown.was_owned() {
                true => Err(self.lock_missing(task)),
                false => Ok(Liveness::Free),
            };
        };
        // Shared, so that any number of lookers do not take each other for an owner.
        match file.try_lock_shared() {
            Ok(()) => Ok(Liveness::Free),
            Err(TryLockError::WouldBlock) => Ok(Liveness::Owned),
            Err(TryLockError::Error(source)) => {
                Err(Error::io("lock", &self.shared.directory.join(&lock_name(task)), source))
            }
        }
    }

    pub(crate) fn require_writer(&self) -> Result<(), Error> {
        match self.shared.writer {
            Some(_) => Ok(()),
            None => Err(Error::ReadOnly {
                path: self.path().to_owned(),
            }),
        }
    }

    /// Locks the task's file, by whatever name it has once it is locked: a file that was never used may be removed by whoever
    /// holds it, and a lock on what has no name any more excludes nobody.
    pub(crate) fn lock(&self, task: &Task, tries: i32) -> Result<File, Error> {
        let name = lock_name(&task.task_id);
        let mut doubts = 0;
        loop {
            let held = self.lock_file(task).and_then(|(file, path)| {
                database::wait_for(&file, &path, tries)?;
                Ok(self.shared.directory.is_named(&file, &name)?.then_some(file))
            });
            match held {
                Ok(Some(file)) => return Ok(file),
                Ok(None) => {}
                // The name also goes between being looked up and being opened, which reads like an attack; one that is real is
                // there the next time too.
                Err(Error::UnsafePath { .. } | Error::Io { .. }) if doubts < DOUBTS => {
                    doubts += 1;
                    sleep(PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn lock_file(&self, task: &Task) -> Result<(File, PathBuf), Error> {
        let name = lock_name(&task.task_id);
        let path = self.shared.directory.join(&name);
        if let Some(file) = self.shared.directory.file(&name, Missing::Refuse)? {
            return Ok((file, path));
        }
        if task.was_owned() {
            return Err(self.lock_missing(&task.task_id));
        }
        let file = self.shared.directory.file(&name, Missing::Create)?;
        // The name is durable before the first event that says the task was owned.
        self.shared.directory.sync()?;
        file.map(|file| (file, path.clone()))
            .ok_or_else(|| Error::io("open", &path, std::io::ErrorKind::NotFound.into()))
    }

    fn lock_missing(&self, task: &TaskId) -> Error {
        let path = self.shared.directory.join(&lock_name(task));
        Error::corrupt(&path, "it is missing, though the task was owned; it is never made anew")
    }
}

fn describe(fault: &Fault) -> String {
    serde_json::to_string(fault).unwrap_or_else(|_| "a fault".to_owned())
}

impl Owner {
    /// The task owned.
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// The store it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Gives the ownership up. Where nothing was ever recorded under it, the lock file goes as well, so that a refused grant
    /// leaves the store as it was. Best effort: an empty lock file that stays is used again and means nothing.
    pub fn abandon(self) {
        if self.store.show(&self.task).is_ok_and(|task| !task.was_owned()) {
            // Before the lock is let go: whoever waits for it sees that the name is gone, and makes a new one.
            let _ = std::fs::remove_file(self.store.shared.directory.join(&lock_name(&self.task)));
        }
    }

    /// Records `event` and returns the task it makes, once that is durable. With `expected_revision`, only at exactly that
    /// revision.
    ///
    /// # Errors
    /// `invalid_transition` naming the rule, `revision_mismatch`, `workspace_busy` naming the task that holds the tree,
    /// `unsafe_path` where store and workspace overlap, `limit_exceeded`, `disk_full`, `store_busy`, `reopen_required`, `io`.
    pub fn record(&self, event: &Event, expected_revision: Option<u64>) -> Result<Task, Error> {
        self.store.event(&self.task, event, expected_revision)
    }

    /// Whether the run was asked to stop. Costs microseconds while nobody writes to the store: SQLite's data version is
    /// looked at, and the task only after it changed.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn cancellation_requested(&self) -> Result<bool, Error> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let watch = match &mut *watch {
            Some(watch) => watch,
            none => none.insert(Watch {
                connection: database::open(&self.store.shared.directory, Access::Read)?,
                seen: None,
                requested: false,
            }),
        };
        // Before the status, so that a commit between the two is seen the next time.
        let version: i64 = self.store.query(&watch.connection, "look for changes", |connection| {
            connection
                .prepare_cached("PRAGMA data_version")?
                .query_row([], |row| row.get(0))
        })?;
        if watch.seen != Some(version) {
            let status: String = self.store.query(&watch.connection, "read the status", |connection| {
                connection
                    .prepare_cached("SELECT status FROM tasks WHERE task_id = ?1")?
                    .query_row([self.task.as_str()], |row| row.get(0))
            })?;
            watch.requested = status == Status::CancelRequested.as_str();
            watch.seen = Some(version);
        }
        Ok(watch.requested)
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
