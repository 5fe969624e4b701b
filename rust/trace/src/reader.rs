//! Reads a log that anyone may be writing: indexed once, then paged by seeking. Takes no lock and changes nothing. A log
//! with faults is read as far as it can be; what is wrong stands in its index.

use crate::error::{Act, Error};
use crate::index::{Entry, Index};
use crate::kept_index::{Found, KeptIndexes};
use crate::limits;
use crate::open::{Access, open};
use crate::record::{Record, decode};
use crate::step::RecordedStep;
use coder_digest::{Digest, Hasher};
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

const BUFFER: usize = 256 << 10;

/// How many steps a page has: 1 to 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u64);

impl PageSize {
    /// A page of `count` steps.
    ///
    /// # Errors
    /// [`Error::PageSize`] outside 1 to 200.
    pub fn new(count: u64) -> Result<Self, Error> {
        if (1..=200).contains(&count) {
            Ok(Self(count))
        } else {
            Err(Error::PageSize { count })
        }
    }

    /// The number of steps.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(100)
    }
}

/// An open, indexed log.
#[derive(Debug)]
pub struct Reader {
    file: File,
    path: PathBuf,
    index: Index,
}

impl Reader {
    /// Opens the log `path` and indexes what it holds now.
    ///
    /// # Errors
    /// [`Error::Missing`]; [`Error::Unsafe`] for anything but a private plain file of one name; [`Error::Oversized`];
    /// [`Error::File`] where the system refuses. Faults inside the log are no errors.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut reader = Self {
            file: open(path, Access::Read)?,
            path: path.to_owned(),
            index: Index::empty(),
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// As [`Reader::open`], but takes what was kept of an earlier look as far as it can be shown to fit, and keeps what
    /// this one found. For looking, not for proving.
    ///
    /// # Errors
    /// As [`Reader::open`]. An index that is missing, damaged, stale or cannot be kept is no error.
    pub fn open_kept(path: &Path, kept: &KeptIndexes) -> Result<Self, Error> {
        let file = open(path, Access::Read)?;
        // Before anything is read: what is written from here on shows in the next look's facts.
        let facts = file.metadata().map_err(|source| Error::file(path, Act::Read, source))?;
        let mut reader = Self {
            file,
            path: path.to_owned(),
            index: Index::empty(),
        };
        match kept.find(path, &facts) {
            Some(Found::Unwritten(index)) => {
                reader.index = index;
                return Ok(reader);
            }
            Some(Found::Doubtful(index)) => {
                reader.index = index;
                if !reader.hash_again()? {
                    reader.index = Index::empty();
                }
            }
            None => {}
        }
        let taken = reader.index.whole_bytes();
        reader.refresh()?;
        kept.keep(path, &facts, taken, &reader.index);
        Ok(reader)
    }

    /// Hashes the indexed lines anew; false where they are not the indexed ones any more.
    fn hash_again(&mut self) -> Result<bool, Error> {
        let failed = |source| Error::file(&self.path, Act::Read, source);
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; BUFFER];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut lines = file.take(self.index.whole_bytes());
        loop {
            match lines.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(self.index.take_hash(hasher))
    }

    /// Indexes what was appended since.
    ///
    /// # Errors
    /// [`Error::Oversized`], [`Error::File`]; [`Error::Changed`] where the log became shorter.
    pub fn refresh(&mut self) -> Result<(), Error> {
        loop {
            self.scan()?;
            let bytes = self.size()?;
            // A reader that meets a record half-way into the file sees it grow on; one that is torn stays as it is.
            if !self.index.is_torn() || bytes <= self.index.bytes() {
                return Ok(());
            }
        }
    }

    fn size(&self) -> Result<u64, Error> {
        let facts = self.file.metadata();
        let bytes = facts
            .map_err(|source| Error::file(&self.path, Act::Read, source))?
            .len();
        if bytes > limits::FILE {
            return Err(self.oversized(bytes));
        }
        Ok(bytes)
    }

    fn scan(&mut self) -> Result<(), Error> {
        let from = self.index.whole_bytes();
        if self.size()? < from || (self.index.needs_hash() && !self.hash_again()?) {
            return Err(self.changed(self.index.lines()));
        }
        let failed = |source| Error::file(&self.path, Act::Read, source);
        self.file.seek(SeekFrom::Start(from)).map_err(failed)?;
        // A writer may append while this reads, so the bound is on what is read and not on the size seen before.
        let bounded = (&self.file).take(limits::FILE - from + 1);
        self.index
            .scan(BufReader::with_capacity(BUFFER, bounded))
            .map_err(failed)?;
        if self.index.bytes() > limits::FILE {
            return Err(self.oversized(self.index.bytes()));
        }
        Ok(())
    }

    /// What the log holds.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The steps from `first` (from 1) on, at most a page of them; none past the end. Reads those lines only.
    ///
    /// # Errors
    /// [`Error::Changed`] where a line is not the indexed one, [`Error::File`].
    pub fn page(&self, first: u64, size: PageSize) -> Result<Vec<RecordedStep>, Error> {
        self.steps(self.entries(first, size.get()))
    }

    pub(crate) fn steps(&self, entries: &[Entry]) -> Result<Vec<RecordedStep>, Error> {
        // One buffer for all: a page of large steps would otherwise ask the system for it again and again.
        let mut line = Vec::new();
        entries.iter().map(|entry| self.read_step(entry, &mut line)).collect()
    }

    pub(crate) fn entries(&self, first: u64, count: u64) -> &[Entry] {
        let length = self.index.entries.len();
        let place = |step: u64| usize::try_from(step).unwrap_or(length).min(length);
        let start = place(first.saturating_sub(1));
        let end = place(first.saturating_sub(1).saturating_add(count));
        self.index.entries.get(start..end).unwrap_or_default()
    }

    pub(crate) fn step(&self, entry: &Entry) -> Result<RecordedStep, Error> {
        self.read_step(entry, &mut Vec::new())
    }

    fn read_step(&self, entry: &Entry, line: &mut Vec<u8>) -> Result<RecordedStep, Error> {
        line.resize(entry.length, 0);
        self.file
            .read_exact_at(line, entry.offset)
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::UnexpectedEof => self.changed(entry.line),
                _ => Error::file(&self.path, Act::Read, source),
            })?;
        if Digest::of(line) != entry.digest {
            return Err(self.changed(entry.line));
        }
        match decode(line.strip_suffix(b"\n").unwrap_or(line)).0 {
            Ok(Record::Step(recorded)) => Ok(*recorded),
            Ok(Record::Session { .. } | Record::End { .. }) | Err(_) => Err(self.changed(entry.line)),
        }
    }

    fn changed(&self, line: u64) -> Error {
        Error::Changed {
            path: self.path.clone(),
            line,
        }
    }

    fn oversized(&self, bytes: u64) -> Error {
        Error::Oversized {
            path: self.path.clone(),
            bytes,
            limit: limits::FILE,
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
