//! The few acts a log needs of its file, and the space held past its end. A trait, so that a failing disk can be put in
//! the file's place; the one real implementation is `std::fs::File`.
//!
//! The space is held by `fallocate` beyond the end of the file itself and not by a second file: such blocks belong to the
//! log, so no other program can take them between their release and the last record.

use crate::limits::END_RESERVE;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// How much is asked for at once, so that most records need no system call for it; small, because a store's other files
/// live on the same file system.
const CHUNK: u64 = 256 << 10;

pub(crate) trait Storage: Send {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    fn cut(&self, length: u64) -> io::Result<()>;
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()>;
}

impl Storage for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        Ok(fallocate(self, FallocateFlags::KEEP_SIZE, offset, length)?)
    }
}

/// Whether the last records of a log have disk space of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserve {
    /// Yes.
    Held,
    /// The file system cannot set space aside; a full disk may keep the final disposition out.
    Unsupported,
    /// It was given up while a failed record was taken back, and could not be had again.
    Lost,
}

/// The space set aside, as an end offset.
pub(crate) struct Space {
    until: u64,
    pub(crate) reserve: Reserve,
}

impl Space {
    pub(crate) fn new() -> Self {
        Self {
            until: 0,
            reserve: Reserve::Held,
        }
    }

    /// Sees to it that the file has blocks from `length` up to `end`.
    pub(crate) fn ensure(&mut self, storage: &dyn Storage, length: u64, end: u64) -> io::Result<()> {
        if self.reserve == Reserve::Unsupported || end <= self.until {
            return Ok(());
        }
        let start = self.until.max(length);
        // A whole chunk first; where that does not fit, exactly what is needed.
        let wanted = [end.max(start + CHUNK), end];
        let mut answer = Ok(());
        for until in wanted {
            match storage.allocate(start, until - start) {
                Ok(()) => {
                    self.until = until;
                    self.reserve = Reserve::Held;
                    return Ok(());
                }
                Err(error) if cannot(&error) => {
                    self.reserve = Reserve::Unsupported;
                    return Ok(());
                }
                Err(error) => answer = Err(error),
            }
        }
        answer
    }

    /// After a cut the blocks past the end are gone; takes them again if it can.
    pub(crate) fn renew(&mut self, storage: &dyn Storage, length: u64, hold: u64) {
        self.until = length;
        if self.ensure(storage, length, length + hold.max(END_RESERVE)).is_err() {
            self.reserve = Reserve::Lost;
        }
    }
}

fn cannot(error: &io::Error) -> bool {
    let errno = error.raw_os_error();
    [Errno::OPNOTSUPP, Errno::NOSYS]
        .iter()
        .any(|cannot| errno == Some(cannot.raw_os_error()))
}
