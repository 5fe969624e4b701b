//! Where a command without a run has its quarantine, noted in the worktree's own Git directory, which no command can write:
//! the next one in that worktree finds there what a killed host left. A note is locked for as long as its host lives, from
//! before the quarantine is made until it is gone.

use super::{LinkedPlace, read_fault, write_fault};
use crate::Error;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What the names of notes begin with. Git knows no such name.
pub(super) const PREFIX: &str = "microcoder-command-";
/// The longest path that is read, in bytes.
const PATH_BYTES: u64 = 4096;
/// How often a name that another process clears up at that moment is given up for a new one.
const TRIES: u32 = 16;

/// A note on disk, locked and removed when dropped.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    file: File,
    keep: bool,
}

/// A note whose host is gone.
#[derive(Debug)]
pub struct Found {
    /// The note; dropping it removes it.
    pub note: Note,
    /// Where the quarantine is, or was to be made; nothing where the host did not come so far as to write it.
    pub directory: Option<PathBuf>,
}

impl Note {
    /// Notes `directory`, which need not exist yet, for the worktree at `place`. `name` tells notes of one worktree apart.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(place: &LinkedPlace, name: &OsStr, directory: &Path) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            let mut leaf = OsString::from(PREFIX);
            leaf.push(name);
            let path = place.admin.join(leaf);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR);
            let file = File::from(opened.map_err(|errno| write_fault(&path)(errno.into()))?);
            rustix::fs::flock(&file, FlockOperation::LockExclusive)
                .map_err(|errno| write_fault(&path)(errno.into()))?;
            // Between making and locking it another process may have taken it for one whose host is gone.
            let removed = file.metadata().map_err(write_fault(&path))?.nlink() == 0;
            if removed && tries < TRIES {
                tries += 1;
                continue;
            }
            let mut note = Self {
                path,
                file,
                keep: false,
            };
            let line = directory.as_os_str().as_bytes();
            note.file.write_all(line).map_err(write_fault(&note.path))?;
            return Ok(note);
        }
    }

    /// The notes of one worktree whose hosts are gone. Best effort: what cannot be read is left for another time.
    pub fn left(admin: &Path) -> Vec<Found> {
        let Ok(entries) = std::fs::read_dir(admin) else {
            return Vec::new();
        };
        let ours = |name: &OsStr| name.as_bytes().starts_with(PREFIX.as_bytes());
        entries
            .filter_map(io::Result::ok)
            .filter(|entry| ours(&entry.file_name()))
            .filter_map(|entry| Self::reopen(entry.path()).ok().flatten())
            .collect()
    }

    fn reopen(path: PathBuf) -> Result<Option<Found>, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::empty());
        let file = File::from(opened.map_err(|errno| read_fault(&path)(errno.into()))?);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(read_fault(&path)(errno.into())),
        }
        let mut bytes = Vec::new();
        (&file)
            .take(PATH_BYTES)
            .read_to_end(&mut bytes)
            .map_err(read_fault(&path))?;
        let directory = Some(PathBuf::from(OsString::from_vec(bytes))).filter(|path| path.is_absolute());
        let keep = false;
        Ok(Some(Found {
            note: Self { path, file, keep },
            directory,
        }))
    }

    /// Leaves the note for the next one to find.
    pub fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if !self.keep {
            // While it is still locked. A worktree that was removed took it along.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
