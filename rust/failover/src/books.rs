//! The two books on disk. Readers take no lock and see a whole book, since one is only ever replaced by rename; writers read,
//! join and replace under one lock, so that none loses what another one wrote. A book that cannot be understood is an error
//! and is never overwritten.

use crate::capacity::{CAPACITY_SCHEMA, CapacityBook};
use crate::error::Error;
use crate::hold::Hold;
use crate::usage::{USAGE_SCHEMA, UsageBook, UsageEntry};
use coder_digest::json;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CAPACITY: &str = "capacity.json";
const USAGE: &str = "usage.json";
const LOCK: &str = "books.lock";
/// The longest book.
const BOOK_BYTES: json::Limit = json::Limit(1024 * 1024);
/// How long another writer is waited for; each writes for milliseconds.
const WAIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// How much of an unknown schema an error repeats, in characters.
const SHOWN_SCHEMA: usize = 100;

/// The books of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    directory: PathBuf,
}

trait Book: Default + Serialize + DeserializeOwned {
    const SCHEMA: &'static str;
    const NAME: &'static str;
}

impl Book for CapacityBook {
    const SCHEMA: &'static str = CAPACITY_SCHEMA;
    const NAME: &'static str = CAPACITY;
}

impl Book for UsageBook {
    const SCHEMA: &'static str = USAGE_SCHEMA;
    const NAME: &'static str = USAGE;
}

impl Books {
    /// The books in `directory`, which must exist when one is written.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Who is held; nobody where there is no book yet.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Unsafe`], [`Error::Malformed`] or [`Error::Version`].
    pub fn capacity(&self) -> Result<CapacityBook, Error> {
        self.load()
    }

    /// What is known of usage; nothing where there is no book yet.
    ///
    /// # Errors
    /// As [`Self::capacity`].
    pub fn usage(&self) -> Result<UsageBook, Error> {
        self.load()
    }

    /// Enters a hold and returns the book as it is then.
    ///
    /// # Errors
    /// As [`Self::capacity`]; [`Error::Lock`], [`Error::Busy`] or [`Error::Write`] when it was not entered.
    pub fn record(&self, hold: Hold) -> Result<CapacityBook, Error> {
        self.change(|book: &mut CapacityBook| book.record(hold))
            .map(|(book, ())| book)
    }

    /// Takes every hold of a provider away and returns what was taken.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn clear(&self, provider: &str) -> Result<Vec<Hold>, Error> {
        self.change(|book: &mut CapacityBook| book.clear(provider))
            .map(|(_, cleared)| cleared)
    }

    /// Enters what is known of a login's usage.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn record_usage(&self, entry: UsageEntry) -> Result<UsageBook, Error> {
        self.change(|book: &mut UsageBook| book.record(entry))
            .map(|(book, ())| book)
    }

    fn change<B: Book, T>(&self, change: impl FnOnce(&mut B) -> T) -> Result<(B, T), Error> {
        let _lock = self.lock()?;
        let mut book: B = self.load()?;
        let changed = change(&mut book);
        self.replace(&book)?;
        Ok((book, changed))
    }

    fn load<B: Book>(&self) -> Result<B, Error> {
        let path = self.directory.join(B::NAME);
        let Some(bytes) = read(&path)? else {
            return Ok(B::default());
        };
        let malformed = |source| Error::Malformed {
            path: path.clone(),
            source,
        };
        let value = json::parse(&bytes, BOOK_BYTES).map_err(malformed)?;
        // The schema is asked first: a newer book has fields whose names would be called damage.
        match value.get("schema").and_then(Value::as_str) {
            Some(schema) if schema != B::SCHEMA => Err(Error::Version {
                path,
                schema: schema.chars().take(SHOWN_SCHEMA).collect(),
                expected: B::SCHEMA,
            }),
            Some(_) | None => json::parse_as(&bytes, BOOK_BYTES).map_err(malformed),
        }
    }

    /// Writes the whole book beside the old one and puts it in its place at once.
    fn replace<B: Book>(&self, book: &B) -> Result<(), Error> {
        let path = self.directory.join(B::NAME);
        let write = || -> io::Result<()> {
            let mut text = serde_json::to_string_pretty(book)?;
            text.push('\n');
            // Mode 0600, and removed again unless it gets the book's name.
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            File::open(&self.directory)?.sync_all()
        };
        write().map_err(|source| Error::Write {
            path: path.clone(),
            source,
        })
    }

    /// The lock is a file of its own: the books themselves are replaced, and a lock on one would be left behind with it.
    fn lock(&self) -> Result<File, Error> {
        let path = self.directory.join(LOCK);
        let lock = |source| Error::Lock {
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
            .map_err(lock)?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if waited >= WAIT => {
                    return Err(Error::Busy {
                        path,
                        seconds: WAIT.as_secs(),
                    });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(lock(source)),
            }
            waited += PAUSE;
        }
    }
}

/// The bytes of a book, or nothing where there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let unsafe_because = |reason| Error::Unsafe {
        path: path.to_owned(),
        reason,
    };
    let fault = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    // Without waiting: a pipe that nobody writes to would be opened for ever.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(unsafe_because("is a symbolic link"));
        }
        Err(source) => return Err(fault(source)),
    };
    if !file.metadata().map_err(fault)?.is_file() {
        return Err(unsafe_because("is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(BOOK_BYTES.0 as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(fault)?;
    match bytes.len() > BOOK_BYTES.0 {
        true => Err(unsafe_because("is larger than 1 MiB")),
        false => Ok(Some(bytes)),
    }
}

#[cfg(test)]
#[path = "books_tests.rs"]
mod tests;
