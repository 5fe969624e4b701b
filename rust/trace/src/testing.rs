//! What the tests of this crate share: a session, a fixed clock, logs in a private folder, and a disk that fails.

use crate::storage::Storage;
use crate::{Session, SessionId, Source, Step, Writer};
use coder_digest::{FixedClock, TaskId, Timestamp};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub(crate) const START: i64 = 1_796_040_000_000;

pub(crate) fn session() -> Session {
    Session {
        id: SessionId::new(&TaskId::new("fix").unwrap(), 1),
        model: Some("model-a".into()),
        door: "repository".into(),
        repository: Some("/data/repository".into()),
        version: "0.1.0".into(),
    }
}

pub(crate) fn clock() -> Arc<FixedClock> {
    Arc::new(FixedClock::new(Timestamp(START), 1000))
}

pub(crate) fn step(message: &str) -> Step {
    Step::new(Source::System, message)
}

pub(crate) struct Log {
    pub(crate) path: PathBuf,
    pub(crate) writer: Writer,
    pub(crate) folder: TempDir,
}

pub(crate) fn log() -> Log {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fix.1.atif.jsonl");
    let writer = Writer::create(&path, &session(), clock()).unwrap();
    Log { path, writer, folder }
}

/// Replaces the log's bytes.
pub(crate) fn rewrite(path: &std::path::Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

/// An act that a [`FailingDisk`] refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    Nothing,
    /// The write stops after this many bytes.
    Write(usize),
    Sync,
    Allocate,
    /// The write stops short, and cutting it off fails as well.
    WriteAndCut(usize),
    /// The file system has no way to set space aside.
    AllocateUnsupported,
}

/// A real file on a disk that fails when told to: the real thing cannot be made to fail at a chosen act.
pub(crate) struct FailingDisk {
    pub(crate) file: File,
    pub(crate) failing: Arc<Mutex<Failing>>,
    pub(crate) error: i32,
}

impl FailingDisk {
    fn error<T>(&self) -> io::Result<T> {
        Err(io::Error::from_raw_os_error(self.error))
    }
}

impl Storage for FailingDisk {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match *self.failing.lock().unwrap() {
            Failing::Write(kept) | Failing::WriteAndCut(kept) => {
                Storage::write_at(&self.file, &bytes[..kept.min(bytes.len())], offset)?;
                self.error()
            }
            _ => Storage::write_at(&self.file, bytes, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut failing = self.failing.lock().unwrap();
        if *failing == Failing::Sync {
            // The sync after the cut succeeds.
            *failing = Failing::Nothing;
            return self.error();
        }
        self.file.sync()
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        match *self.failing.lock().unwrap() {
            Failing::WriteAndCut(_) => self.error(),
            _ => self.file.cut(length),
        }
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        match *self.failing.lock().unwrap() {
            Failing::Allocate => self.error(),
            Failing::AllocateUnsupported => Err(rustix::io::Errno::OPNOTSUPP.into()),
            _ => self.file.allocate(offset, length),
        }
    }
}
