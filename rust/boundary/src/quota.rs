//! The count of what lies in the private directory behind a command's home and `/tmp`: a directory of the host has no
//! size of its own. What lies there is hostile, so whatever cannot be counted counts as too much.

use crate::Scratch;
use coder_process::Flow;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is counted while a command runs; less often when counting takes long.
pub(crate) const EVERY: Duration = Duration::from_millis(200);

/// Directories nested deeper are not counted any more. Each level holds a descriptor open.
const DEEPEST: usize = 200;

/// What a disk counts in, whatever its own blocks are.
const BLOCK: u64 = 512;

/// The bound of one command, and whether it was found above it.
#[derive(Debug)]
pub(crate) struct Meter {
    places: [PathBuf; 2],
    most: u64,
    over: AtomicBool,
}

impl Meter {
    pub(crate) fn new(scratch: &Scratch, most: u64) -> Self {
        Self {
            places: [scratch.home(), scratch.temporary()],
            most,
            over: AtomicBool::new(false),
        }
    }

    /// Counts; ends a command that is above its bound.
    pub(crate) fn look(&self) -> Flow {
        if self.count() {
            self.over.store(true, Ordering::Relaxed);
            return Flow::Stop;
        }
        Flow::Continue
    }

    /// Whether the command was, or is now, above its bound.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.count()
    }

    fn count(&self) -> bool {
        let mut counted = Counted {
            left: self.most,
            linked: HashSet::new(),
        };
        self.places.iter().any(|place| counted.tree(place).is_err())
    }
}

/// There is more than there may be, or something that cannot be counted.
struct TooMuch;

struct Counted {
    left: u64,
    /// Files with several names, which count once.
    linked: HashSet<(u64, u64)>,
}

impl Counted {
    fn tree(&mut self, top: &std::path::Path) -> Result<(), TooMuch> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = rustix::fs::open(top, flags, Mode::empty()).map_err(|_| TooMuch)?;
        let mut stack: Vec<(OwnedFd, Vec<CString>)> = vec![self.list(open)?];
        while let Some((directory, waiting)) = stack.last_mut() {
            let Some(name) = waiting.pop() else {
                stack.pop();
                continue;
            };
            match rustix::fs::openat(&*directory, &name, flags, Mode::empty()) {
                Ok(open) if stack.len() < DEEPEST => {
                    let listed = self.list(open)?;
                    stack.push(listed);
                }
                // Commands remove what they made while it is counted.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Ok(_) | Err(_) => return Err(TooMuch),
            }
        }
        Ok(())
    }

    /// Counts the entries of one directory, and gives back those that are directories.
    fn list(&mut self, directory: OwnedFd) -> Result<(OwnedFd, Vec<CString>), TooMuch> {
        let mut inner = Vec::new();
        for entry in Dir::read_from(&directory).map_err(|_| TooMuch)? {
            let entry = entry.map_err(|_| TooMuch)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let status = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(status) => status,
                Err(Errno::NOENT) => continue,
                Err(_) => return Err(TooMuch),
            };
            let kind = FileType::from_raw_mode(status.st_mode);
            if kind == FileType::Directory {
                inner.push(name.to_owned());
            } else if status.st_nlink > 1 && !self.linked.insert((status.st_dev, status.st_ino)) {
                continue;
            }
            let bytes = u64::try_from(status.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
            self.left = self.left.checked_sub(bytes).ok_or(TooMuch)?;
        }
        Ok((directory, inner))
    }
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
