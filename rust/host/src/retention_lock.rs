//! Keeps what a run has retained from being cleared away before anything names it: a run holds this from its first retained
//! byte until its result is recorded, and clearing up waits until nobody does. The lock is on the store's directory itself,
//! so taking it makes no file and works on a full disk.

use crate::Error;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(20);

/// Held by whoever retains bytes, or by whoever clears up; given up when dropped.
#[derive(Debug)]
pub(crate) struct RetentionLock {
    _directory: File,
}

impl RetentionLock {
    /// For a run that retains; any number of runs at once. Waits for a clearing up to end.
    pub(crate) fn share(store: &Path) -> Result<Self, Error> {
        let directory = File::open(store).map_err(Error::file("open", store))?;
        directory.lock_shared().map_err(Error::file("lock", store))?;
        Ok(Self { _directory: directory })
    }

    /// For clearing up; none where runs are ending for longer than about `wait`.
    pub(crate) fn exclude(store: &Path, wait: Duration) -> Result<Option<Self>, Error> {
        let directory = File::open(store).map_err(Error::file("open", store))?;
        let mut waited = Duration::ZERO;
        loop {
            match directory.try_lock() {
                Ok(()) => return Ok(Some(Self { _directory: directory })),
                Err(TryLockError::WouldBlock) if waited >= wait => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", store)(source)),
            }
            waited += PAUSE;
        }
    }
}
