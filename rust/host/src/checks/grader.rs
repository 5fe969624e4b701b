//! The files that judge: each is opened once, digested through that descriptor, and looked at again after the suite ran. A file
//! that was replaced, written or touched in between shows by its inode or by its change time, which no program can set back.

use crate::Error;
use coder_digest::{Clock, Digest};
use coder_journal::Sameness;
use coder_workspace::{Observer, Snapshot};
use rustix::fs::{Access, Mode, OFlags};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// What of a file must stay. The digest alone would not show a file that was changed and put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    length: u64,
    mode: u32,
    changed: (i64, i64),
    digest: Digest,
}

/// One held file.
#[derive(Debug)]
pub(super) struct GraderFile {
    path: PathBuf,
    file: File,
    seen: Seen,
}

impl GraderFile {
    /// Opens the regular file at `path`, which must be its canonical name, and digests at most `limit` bytes of it.
    pub(super) fn open(path: &Path, limit: u64) -> Result<Self, Error> {
        let file = open_plain(path)?;
        let seen = look(&file, limit).map_err(Error::file("read", path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            seen,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn digest(&self) -> Digest {
        self.seen.digest
    }

    /// Its device and inode.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.seen.device, self.seen.inode)
    }

    /// That this process may start it, and that the kernel will know how to. Which interpreter a boundary holds is seen there
    /// alone.
    pub(super) fn startable(&self) -> Result<(), Error> {
        let fault = |reason: &str| Error::file("start the suite", &self.path)(std::io::Error::other(reason.to_owned()));
        if rustix::fs::access(&self.path, Access::EXEC_OK).is_err() {
            return Err(fault("it is not executable; `chmod +x` makes it so"));
        }
        let mut start = [0; 4];
        let read = self
            .file
            .read_at(&mut start, 0)
            .map_err(Error::file("read", &self.path))?;
        let start = start.get(..read).unwrap_or_default();
        if start == b"\x7fELF" || start.starts_with(b"#!") {
            return Ok(());
        }
        Err(fault(
            "it is neither a binary of this machine nor a script with an interpreter line",
        ))
    }

    /// Its bytes, read through the same descriptor.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; usize::try_from(self.seen.length).unwrap_or_default()];
        self.file
            .read_exact_at(&mut bytes, 0)
            .map_err(Error::file("read", &self.path))?;
        Ok(bytes)
    }

    fn sameness(&self) -> Sameness {
        let again = open_plain(&self.path).ok().and_then(|file| look(&file, u64::MAX).ok());
        match again {
            Some(seen) if seen == self.seen => Sameness::Unchanged,
            // A name that is gone or leads elsewhere is a change too.
            Some(_) | None => Sameness::Changed,
        }
    }
}

fn open_plain(path: &Path) -> Result<File, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map(File::from)
        .map_err(|error| Error::file("open", path)(error.into()))
}

fn look(file: &File, limit: u64) -> std::io::Result<Seen> {
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(std::io::Error::other("it is no plain file"));
    }
    if status.len() > limit {
        let told = format!("it has {} bytes; at most {limit} are allowed", status.len());
        return Err(std::io::Error::other(told));
    }
    let (digest, length) = Digest::of_reader(At { file, offset: 0 }.take(limit))?;
    if length != status.len() {
        return Err(std::io::Error::other("it changed while it was read"));
    }
    Ok(Seen {
        device: status.dev(),
        inode: status.ino(),
        length,
        mode: status.mode(),
        changed: (status.ctime(), status.ctime_nsec()),
        digest,
    })
}

/// Reads a file from the beginning without moving its offset, which its other readers share.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl std::io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// One thing that a suite needs beside its program and manifest.
#[derive(Debug)]
pub(super) enum GraderPart {
    /// A file.
    File(GraderFile),
    /// A directory with everything in it.
    Tree {
        /// Canonical.
        path: PathBuf,
        /// As it was before.
        snapshot: Box<Snapshot>,
    },
}

impl GraderPart {
    /// Takes the file or directory at `path`, a canonical name.
    pub(super) fn take(path: &Path, limit: u64, clock: &dyn Clock) -> Result<Self, Error> {
        let status = path.symlink_metadata().map_err(Error::file("look at", path))?;
        if !status.is_dir() {
            return GraderFile::open(path, limit).map(Self::File);
        }
        let snapshot = Box::new(observe(path, clock)?);
        Ok(Self::Tree {
            path: path.to_owned(),
            snapshot,
        })
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(file) => file.path(),
            Self::Tree { path, .. } => path,
        }
    }

    /// Of a file's bytes, or of a directory as a snapshot.
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::File(file) => file.digest(),
            Self::Tree { snapshot, .. } => snapshot.digest(),
        }
    }

    fn sameness(&self, clock: &dyn Clock) -> Sameness {
        match self {
            Self::File(file) => file.sameness(),
            Self::Tree { path, snapshot } => match observe(path, clock) {
                Ok(now) if now == **snapshot => Sameness::Unchanged,
                Ok(_) => Sameness::Changed,
                Err(_) => Sameness::Unobservable,
            },
        }
    }
}

fn observe(path: &Path, clock: &dyn Clock) -> Result<Snapshot, Error> {
    let snapshot = Observer::new(clock).observe(path)?;
    match snapshot.faults().first() {
        None => Ok(snapshot),
        Some(fault) => Err(Error::SourceIncomplete {
            path: path.to_owned(),
            fault: fault.to_string(),
        }),
    }
}

/// Whether all of them are still what they were; the worst finding counts.
pub(super) fn sameness(files: [&GraderFile; 2], parts: &[GraderPart], clock: &dyn Clock) -> Sameness {
    let of_files = files.into_iter().map(GraderFile::sameness);
    let mut worst = Sameness::Unchanged;
    for found in of_files.chain(parts.iter().map(|part| part.sameness(clock))) {
        match found {
            Sameness::Changed => return found,
            Sameness::Unobservable => worst = found,
            Sameness::Unchanged => {}
        }
    }
    worst
}

#[cfg(test)]
#[path = "grader_tests.rs"]
mod tests;
