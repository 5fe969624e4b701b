//! Appends a run's records to its log. Each record is one write and one `fdatasync`, and is on disk when the call
//! returns; a record that fails is taken back whole. One writer per file by construction: the file is always a new one.
//! Does not decide what is recorded, and does not retry.

use crate::effect::Effects;
use crate::error::{Act, Error};
use crate::limits;
use crate::record::{end_line, session_line, step_line};
use crate::step::{RecordedStep, Session, Step};
use crate::storage::{Reserve, Space, Storage};
use coder_digest::{Clock, Digest, Hasher, Timestamp};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an appended record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its line, from 1.
    pub line: u64,
    /// The digest of the line's bytes, its newline included.
    pub digest: Digest,
    /// The time it was stamped with.
    pub at: Timestamp,
}

/// A finished log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    /// The digest of the whole file.
    pub digest: Digest,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Final,
    Sealed(Sealed),
    Poisoned,
}

/// A log being written.
pub struct Writer {
    storage: Box<dyn Storage>,
    path: PathBuf,
    clock: Arc<dyn Clock>,
    phase: Phase,
    length: u64,
    lines: u64,
    identity: Digest,
    previous: Digest,
    whole: Hasher,
    last: Option<Timestamp>,
    space: Space,
    pub(crate) effects: Effects,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("path", &self.path)
            .field("phase", &self.phase)
            .field("lines", &self.lines)
            .field("bytes", &self.length)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins the log `path`, which must not exist, with its session record; file and directory entry are on disk when
    /// this returns. The file is readable and writable by its owner alone. Where the record fails, no file stays.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::DiskFull`], [`Error::File`].
    pub fn create(path: &Path, session: &Session, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
                _ => Error::file(path, Act::Create, source),
            })?;
        let begun =
            Self::begin(Box::new(file), path, session, clock).and_then(|writer| sync_directory(path).map(|()| writer));
        if begun.is_err() {
            // It is ours alone, made a moment ago. If even this fails, an unfinished log stays and says so itself.
            let _ = std::fs::remove_file(path);
        }
        begun
    }

    pub(crate) fn begin(
        storage: Box<dyn Storage>,
        path: &Path,
        session: &Session,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let at = clock.now();
        let line = session_line(at, session)?;
        let mut writer = Self {
            storage,
            path: path.to_owned(),
            clock,
            phase: Phase::Open,
            length: 0,
            lines: 0,
            identity: Digest::of(&line),
            previous: Digest::of(b""),
            whole: Hasher::new(),
            last: None,
            space: Space::new(),
            effects: Effects::default(),
        };
        writer.put(&line, at, limits::RESERVE)?;
        Ok(writer)
    }

    /// Appends a step, stamped with the time now, or with the last step's where the clock has gone back: time in a log
    /// never runs backwards. The step is on disk when this returns.
    ///
    /// # Errors
    /// [`Error::StepTooLarge`], [`Error::EvidenceFull`], [`Error::BadStep`], [`Error::Finished`] before anything is
    /// written; [`Error::DiskFull`] and [`Error::File`] with the record taken back; [`Error::Poisoned`].
    pub fn append(&mut self, step: &Step) -> Result<Appended, Error> {
        Effects::refuse_in(step)?;
        self.append_ordinary(self.now(), step)
    }

    /// Appends a step of an earlier turn with the time it had then. Its `effect` and `effect_result` extensions move
    /// under `carried`, since this log counts its own effects.
    ///
    /// # Errors
    /// As [`Writer::append`], and [`Error::Backwards`] for a step older than the last one.
    pub fn append_carried(&mut self, carried: &RecordedStep) -> Result<Appended, Error> {
        self.append_ordinary(carried.at, &Effects::carry(&carried.step)?)
    }

    /// Appends the run's final disposition. It is not held to the bounds of an ordinary record, only to the reader's,
    /// and may use the disk space held back for it; after it only [`Writer::seal`] writes.
    ///
    /// # Errors
    /// As [`Writer::append`]; after one that speaks of size or space a shorter disposition may be tried.
    pub fn append_final(&mut self, step: &Step) -> Result<Appended, Error> {
        self.check_open()?;
        Effects::refuse_in(step)?;
        let at = self.now();
        let line = step_line(at, step, self.previous, limits::FILE)?;
        self.check_total(&line, limits::FILE - limits::END_RESERVE)?;
        let appended = self.put(&line, at, limits::END_RESERVE)?;
        self.phase = Phase::Final;
        self.last = Some(at);
        Ok(appended)
    }

    /// Writes the end record and gives the unused disk space back. Where it fails it may be called again; once sealed it
    /// answers the same each time.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::File`], [`Error::Poisoned`].
    pub fn seal(&mut self) -> Result<Sealed, Error> {
        match self.phase {
            Phase::Sealed(sealed) => return Ok(sealed),
            Phase::Poisoned => return Err(self.poisoned()),
            Phase::Open | Phase::Final => {}
        }
        let at = self.now();
        let line = end_line(at, self.previous)?;
        self.put(&line, at, 0)?;
        let sealed = Sealed {
            digest: self.whole.finish(),
            lines: self.lines,
            bytes: self.length,
        };
        self.phase = Phase::Sealed(sealed);
        // Only blocks past the end go. The log is complete and durable whether or not the system obliges.
        let _ = self.storage.cut(self.length);
        Ok(sealed)
    }

    /// The time a step appended now would get.
    pub fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.last.map_or(now, |last| last.max(now))
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes so far.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// Its lines so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether the final records have disk space of their own; where not, the run's evidence should say so.
    pub fn reserve(&self) -> Reserve {
        self.space.reserve
    }

    /// Whether a failed record could not be taken back, after which nothing is written.
    pub fn is_poisoned(&self) -> bool {
        self.phase == Phase::Poisoned
    }

    /// The digest of the session's line, which no two logs share unless they say the same.
    pub(crate) fn identity(&self) -> Digest {
        self.identity
    }

    pub(crate) fn append_ordinary(&mut self, at: Timestamp, step: &Step) -> Result<Appended, Error> {
        self.check_open()?;
        if let Some(last) = self.last
            && at < last
        {
            return Err(Error::Backwards { at, last });
        }
        let line = step_line(at, step, self.previous, limits::STEP)?;
        self.check_total(&line, limits::ORDINARY)?;
        let appended = self.put(&line, at, limits::RESERVE)?;
        self.last = Some(at);
        Ok(appended)
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.phase {
            Phase::Open => Ok(()),
            Phase::Final | Phase::Sealed(_) => Err(Error::Finished {
                path: self.path.clone(),
            }),
            Phase::Poisoned => Err(self.poisoned()),
        }
    }

    fn check_total(&self, line: &[u8], limit: u64) -> Result<(), Error> {
        let bytes = self.length + line.len() as u64;
        if bytes > limit {
            return Err(Error::EvidenceFull { bytes, limit });
        }
        Ok(())
    }

    fn poisoned(&self) -> Error {
        Error::Poisoned {
            path: self.path.clone(),
        }
    }

    /// Writes one whole line and makes it durable, leaving `hold` bytes of disk space behind it.
    fn put(&mut self, line: &[u8], at: Timestamp, hold: u64) -> Result<Appended, Error> {
        let end = self.length + line.len() as u64;
        self.space
            .ensure(&*self.storage, self.length, end + hold)
            .map_err(|source| Error::file(&self.path, Act::Reserve, source))?;
        self.storage
            .write_at(line, self.length)
            .map_err(|source| self.take_back(Act::Write, source))?;
        // After a failed sync the kernel may have dropped the pages; only the cut and a second sync say what is there.
        self.storage
            .sync()
            .map_err(|source| self.take_back(Act::Sync, source))?;
        self.length = end;
        self.lines += 1;
        self.whole.update(line);
        self.previous = Digest::of(line);
        Ok(Appended {
            line: self.lines,
            digest: self.previous,
            at,
        })
    }

    fn take_back(&mut self, act: Act, source: io::Error) -> Error {
        if self
            .storage
            .cut(self.length)
            .and_then(|()| self.storage.sync())
            .is_err()
        {
            self.phase = Phase::Poisoned;
            return self.poisoned();
        }
        self.space.renew(&*self.storage, self.length, limits::RESERVE);
        Error::file(&self.path, act, source)
    }
}

fn sync_directory(path: &Path) -> Result<(), Error> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    };
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::file(parent, Act::Sync, source))
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
