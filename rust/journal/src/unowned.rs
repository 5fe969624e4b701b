//! Making sure that nobody owns a task while what a past owner left is cleared away: its lock is held meanwhile, and whoever
//! comes to own the task waits. Also clears away locks that were never used; one that was is never removed, because a
//! missing lock of a task that ran is a damaged store.

use crate::Error;
use crate::owner::{lock_name, locked_task};
use crate::store::Store;
use coder_digest::TaskId;
use std::fs::File;

/// As long as this is held, nobody owns the task.
#[derive(Debug)]
pub struct Unowned {
    store: Store,
    task: TaskId,
    // None where the store has no such task, which then nobody can come to own before it is submitted.
    lock: Option<File>,
    /// Whether the lock file was made for this alone.
    made: bool,
}

impl Store {
    /// Keeps `task` from being owned; none where somebody owns it. The store need not know the task.
    ///
    /// # Errors
    /// `corrupt_store` where the lock file of a task with a run is missing, `read_only`, `unsafe_path`, `io`.
    pub fn keep_unowned(&self, task: &TaskId) -> Result<Option<Unowned>, Error> {
        self.require_writer()?;
        let made = !self.shared.directory.check_name(&lock_name(task))?;
        let lock = match self.show(task) {
            Ok(shown) => match self.lock(&shown, 0) {
                Ok(lock) => Some(lock),
                Err(Error::StoreBusy { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Some(Unowned {
            store: self.clone(),
            task: task.clone(),
            made: made && lock.is_some(),
            lock,
        }))
    }

    /// The tasks with a lock file that was never used: its task was never owned, or is not in the store.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn unused_locks(&self) -> Result<Vec<TaskId>, Error> {
        let mut unused = Vec::new();
        for name in self.shared.directory.names()? {
            let Some(task) = name.to_str().and_then(locked_task) else {
                continue;
            };
            match self.show(&task) {
                Ok(shown) if shown.was_owned() => {}
                Ok(_) | Err(Error::NotFound { .. }) => unused.push(task),
                Err(error) => return Err(error),
            }
        }
        unused.sort();
        Ok(unused)
    }
}

impl Unowned {
    /// Removes the lock file if the task was never owned. Whoever waits for it makes a new one. Whether it was removed.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn remove_unused_lock(&self) -> Result<bool, Error> {
        // Again under the lock: the task may have been owned since the locks were listed.
        match self.store.show(&self.task) {
            Ok(shown) if shown.was_owned() => return Ok(false),
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let directory = &self.store.shared.directory;
        let name = lock_name(&self.task);
        let is_there = match &self.lock {
            Some(lock) => directory.is_named(lock, &name)?,
            None => directory.check_name(&name)?,
        };
        if !is_there {
            return Ok(false);
        }
        let path = directory.join(&name);
        std::fs::remove_file(&path).map_err(|source| Error::io("remove", &path, source))?;
        directory.sync()?;
        Ok(true)
    }
}

impl Drop for Unowned {
    fn drop(&mut self) {
        if self.made {
            // An unused lock that stays is only something more to clear away.
            let _ = self.remove_unused_lock();
        }
    }
}

#[cfg(test)]
#[path = "unowned_tests.rs"]
mod tests;
