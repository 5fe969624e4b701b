//! An index that is kept between looks, so that a page of a large log does not cost a pass over all of it. Only speed
//! hangs on it: it counts where the log's file was not written since it was seen to fit, else the indexed bytes are hashed
//! again and must be the same, else the log is indexed afresh. Every step of a page is compared with its digest all the
//! same. What must be proved, as by `verify`, is never read through it.

use crate::index::Index;
use crate::index_file::{Stamp, Written, decode, encode};
use coder_digest::Timestamp;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs::{File, Metadata};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Logs below this many bytes are indexed faster than the kept index would be worth.
const WORTH_KEEPING: u64 = 1 << 20;
/// What was appended since may be so much before the index is kept anew.
const WORTH_RENEWING: u64 = 256 << 10;
/// The largest index that is kept or read, in bytes.
const LARGEST: u64 = 32 << 20;
/// A write in the same tick of the file system's clock does not show in its times.
const SETTLED_SECONDS: i64 = 2;

/// Where the indexes of a store's logs are kept. Only this user may write there: whoever writes an index decides what an
/// unchanged log is said to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptIndexes {
    directory: PathBuf,
    now: Timestamp,
}

impl KeptIndexes {
    /// Indexes in `directory`, which is made when the first is kept. `now` tells settled files from fresh ones.
    pub fn new(directory: PathBuf, now: Timestamp) -> Self {
        Self { directory, now }
    }

    fn path(&self, log: &Path) -> Option<PathBuf> {
        let mut name = log.file_name()?.to_owned();
        name.push(".index");
        Some(self.directory.join(name))
    }

    /// What was kept for `log`, and whether it can be taken without another look at its bytes.
    pub(crate) fn find(&self, log: &Path, facts: &Metadata) -> Option<Found> {
        if facts.len() < WORTH_KEEPING {
            return None;
        }
        let written = read(&self.path(log)?)?;
        let stamp = Stamp::of(facts);
        if stamp == written.stamp && stamp.is_settled(written.seen) {
            Some(Found::Unwritten(written.index))
        } else if written.index.whole_bytes() <= facts.len() {
            Some(Found::Doubtful(written.index))
        } else {
            None
        }
    }

    /// Keeps `index`, seen to fit the log that had these facts before it was read. A store that cannot be written is
    /// looked at without; that costs time only.
    pub(crate) fn keep(&self, log: &Path, facts: &Metadata, taken: u64, index: &Index) {
        let stamp = Stamp::of(facts);
        let grown = index.whole_bytes().saturating_sub(taken);
        let ripened = taken > 0 && stamp.is_settled(self.now);
        if index.whole_bytes() < WORTH_KEEPING || !(ripened || grown >= WORTH_RENEWING) {
            return;
        }
        let written = Written {
            stamp,
            seen: self.now,
            index: index.clone(),
        };
        if let (Some(path), Some(bytes)) = (self.path(log), encode(&written))
            && bytes.len() as u64 <= LARGEST
        {
            // Nothing to tell: the next look finds no index and makes its own.
            let _ = self.replace(&path, &bytes);
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        match rustix::fs::mkdirat(CWD, &self.directory, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // Two lookers at once write two files; the last one renamed stays, and either is right.
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File = rustix::fs::open(&temporary, flags, Mode::RUSR | Mode::WUSR)?.into();
        let written = file.write_all(bytes).and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            // Ours and half written; the first error is the one that counts.
            let _ = rustix::fs::unlinkat(CWD, &temporary, AtFlags::empty());
        }
        written
    }
}

/// What [`KeptIndexes::find`] found.
pub(crate) enum Found {
    /// The file was not written since.
    Unwritten(Index),
    /// It may have been: the indexed bytes must be compared.
    Doubtful(Index),
}

impl Stamp {
    fn of(facts: &Metadata) -> Self {
        Self {
            device: facts.dev(),
            inode: facts.ino(),
            length: facts.len(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        }
    }

    fn is_settled(&self, seen: Timestamp) -> bool {
        let seconds = seen.0.div_euclid(1000);
        self.modified.0.max(self.changed.0) + SETTLED_SECONDS < seconds
    }
}

fn read(path: &Path) -> Option<Written> {
    // As strictly opened as the log itself: an index of someone else's making is none.
    let file = crate::open::open(path, crate::open::Access::Read).ok()?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LARGEST {
        return None;
    }
    decode(&bytes)
}

#[cfg(test)]
#[path = "kept_index_tests.rs"]
mod tests;
