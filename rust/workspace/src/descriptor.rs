//! Opening and describing what lies under a directory descriptor, one component at a time and never through a link.
//! Every open here names a single component relative to its parent's descriptor with `O_NOFOLLOW`, so a path swapped
//! under us is refused instead of followed. `openat2` would check a whole path in one call, but containers filter it
//! out and it cannot say which component was at fault. Nothing here reads content.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A directory to be listed or descended into.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A file to be read. `O_NONBLOCK` so that a pipe without a writer answers at once instead of hanging; it changes
/// nothing for a regular file.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A time of the file system: seconds since 1970 UTC, which may be negative, and nanoseconds. In JSON a pair, since
/// the nanoseconds alone would pass 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileTime(pub i64, pub u32);

impl FileTime {
    /// Whole milliseconds since 1970 UTC.
    pub fn milliseconds(self) -> i64 {
        self.0
            .saturating_mul(1000)
            .saturating_add(i64::from(self.1 / 1_000_000))
    }
}

/// What the kernel says of one inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub device: u64,
    pub inode: u64,
    pub kind: FileType,
    /// The low twelve bits: permissions, set-id and sticky.
    pub mode: u32,
    pub links: u32,
    pub owner: u32,
    pub length: u64,
    pub modified: FileTime,
    pub changed: FileTime,
    /// When the inode was made, where the file system knows.
    pub born: Option<FileTime>,
}

impl Status {
    fn new(answer: &Statx) -> Self {
        let time = |stamp: &rustix::fs::StatxTimestamp| FileTime(stamp.tv_sec, stamp.tv_nsec);
        Self {
            device: u64::from(answer.stx_dev_major) << 32 | u64::from(answer.stx_dev_minor),
            inode: answer.stx_ino,
            kind: FileType::from_raw_mode(answer.stx_mode.into()),
            mode: u32::from(answer.stx_mode) & 0o7777,
            links: answer.stx_nlink,
            owner: answer.stx_uid,
            length: answer.stx_size,
            modified: time(&answer.stx_mtime),
            changed: time(&answer.stx_ctime),
            born: (answer.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| time(&answer.stx_btime)),
        }
    }

    /// The status of an open descriptor.
    pub fn of(descriptor: impl AsFd) -> Result<Self, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, wanted).map(|answer| Self::new(&answer))
    }

    /// The status of `name` in `directory`; of a link, the link's own.
    pub fn at(directory: impl AsFd, name: &[u8]) -> Result<Self, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        rustix::fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted).map(|answer| Self::new(&answer))
    }

    /// Whether nothing was written, moved in or replaced between two looks at one descriptor. The link count and
    /// the owner are left out: neither says anything about content.
    pub fn steady(&self, later: &Self) -> bool {
        (self.device, self.inode, self.kind, self.mode, self.length)
            == (later.device, later.inode, later.kind, later.mode, later.length)
            && (self.modified, self.changed) == (later.modified, later.changed)
    }
}

/// The directory `name` in `directory`. `ENOTDIR` or `ELOOP` when it is anything else.
pub fn open_directory(directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())
}

/// Whatever `name` in `directory` is, but a link (`ELOOP`), opened for reading without waiting.
pub fn open_file(directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, name, FILE, Mode::empty())
}

/// A directory by its absolute path, every component of it a real directory.
pub fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    let mut directory = rustix::fs::open("/", DIRECTORY, Mode::empty())?;
    for component in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => return Err(Errno::INVAL),
            name => directory = open_directory(&directory, name)?,
        }
    }
    Ok(directory)
}

/// The target of the link `name` in `directory`, never followed.
pub fn link_target(directory: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(directory, OsStr::from_bytes(name), Vec::new()).map(std::ffi::CString::into_bytes)
}
