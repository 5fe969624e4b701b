//! Where the store is: the one named, else `~/.openagents/tasks`. Says the place; opening it is the journal's.

use crate::Error;
use coder_digest::Clock;
use coder_journal::Store;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default store of a person whose home directory is `home`.
pub fn default_store(home: &Path) -> PathBuf {
    home.join(".openagents/tasks")
}

/// Opens a store that must exist, for reading and writing. Looking for a task never makes a store.
///
/// # Errors
/// [`Error::NoStore`] where there is none; the journal's own errors.
pub fn open_existing(path: &Path, clock: Arc<dyn Clock>) -> Result<Store, Error> {
    require(path)?;
    Ok(Store::open(path, clock)?)
}

/// Opens a store that must exist, to look at.
///
/// # Errors
/// [`Error::NoStore`] where there is none; the journal's own errors.
pub fn open_to_read(path: &Path, clock: Arc<dyn Clock>) -> Result<Store, Error> {
    require(path)?;
    Ok(Store::open_read_only(path, clock)?)
}

/// Refuses a place where no store is.
pub(crate) fn require(path: &Path) -> Result<(), Error> {
    // The database file and not the directory: an empty directory is no store, and must not become one by a look.
    let database = path.join("journal.db");
    match database.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(Error::NoStore { path: path.to_owned() })
        }
        // A store nobody lets us look into is not an absent one.
        Err(source) => Err(Error::file("look at the store's", &database)(source)),
    }
}
