//! Control groups: what counts and bounds the memory and the processes of a whole tree. A command gets a leaf of its own
//! where this user may make one; its process joins as the last act before the program. The leaf goes with the command,
//! and what a killed host left goes at the next start: who holds the lock of a leaf's directory lives.

mod place;

use self::place::{Controller, Place};
use crate::enforced::Group;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How the leaves are named, and no others.
const PREFIX: &str = "microcoder-";
/// The least memory of a group: what becoming a program takes, arguments and environment included, fits in it.
const LEAST_MEMORY: u64 = 16 << 20;
/// How often a leaf is tried to be made under another name, and to be removed while the kernel still lets go of it.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// What is to be bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    pub(crate) memory: Option<u64>,
    pub(crate) pids: Option<u64>,
}

impl Wanted {
    fn of(self, controller: Controller) -> Option<u64> {
        match controller {
            Controller::Memory => self.memory.map(|bytes| bytes.max(LEAST_MEMORY)),
            Controller::Pids => self.pids,
        }
    }

    /// As far as this machine counts it together, and how; found out once by making a leaf. `None` where nothing is.
    pub(crate) fn counted(self) -> Option<(Self, Group)> {
        static USABLE: OnceLock<Option<Place>> = OnceLock::new();
        let place = USABLE.get_or_init(usable).as_ref()?;
        let counted = Self {
            memory: self.memory.filter(|_| place.counts(Controller::Memory)),
            pids: self.pids.filter(|_| place.counts(Controller::Pids)),
        };
        (counted != Self::default()).then_some((counted, place.kind()))
    }
}

/// The place where this user can make leaves, cleared of what killed hosts left.
fn usable() -> Option<Place> {
    let place = Place::find()?;
    for parent in place.parents() {
        sweep(parent);
    }
    let tried = |controller| {
        let wanted = Wanted {
            memory: (controller == Controller::Memory).then_some(1 << 30),
            pids: (controller == Controller::Pids).then_some(64),
        };
        Leaf::within(&place, wanted).is_ok()
    };
    let (memory, pids) = (tried(Controller::Memory), tried(Controller::Pids));
    place.only(memory, pids)
}

/// Removes the leaves whose owners are gone.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // A lock that somebody holds is somebody's leaf. One with processes in it cannot be removed.
        if ours && locked(&entry.path()).is_ok() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn locked(directory: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::open(directory, flags, rustix::fs::Mode::empty())?;
    rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive)?;
    Ok(open)
}

/// What ran out, as far as the kernel counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    pub(crate) memory: bool,
    pub(crate) pids: bool,
}

/// The leaf of one command; removed when dropped.
#[derive(Debug)]
pub(crate) struct Leaf {
    directories: Vec<Directory>,
    memory_events: Option<Counter>,
    pids_events: Option<Counter>,
}

/// One directory of a leaf: both controllers' in version 2, one's in version 1.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Its owner's lock, which the kernel lets go of however that ends.
    _lock: OwnedFd,
    /// Open for a process to write itself into.
    processes: File,
}

/// A number in a file of the kernel's that grows each time something ran out.
#[derive(Debug)]
struct Counter {
    file: PathBuf,
    word: &'static str,
    last: AtomicU64,
}

impl Leaf {
    /// Makes one with these bounds, which must be [`Wanted::counted`].
    pub(crate) fn create(wanted: Wanted) -> io::Result<Self> {
        let place = Place::find().ok_or(io::ErrorKind::NotFound)?;
        Self::within(&place, wanted)
    }

    fn within(place: &Place, wanted: Wanted) -> io::Result<Self> {
        let mut leaf = Self {
            directories: Vec::new(),
            memory_events: None,
            pids_events: None,
        };
        for controller in [Controller::Memory, Controller::Pids] {
            let (Some(bound), Some(parent)) = (wanted.of(controller), place.parent(controller)) else {
                continue;
            };
            let shared = leaf
                .directories
                .iter()
                .find(|directory| directory.path.parent() == Some(parent));
            let path = match shared {
                Some(directory) => directory.path.clone(),
                None => {
                    let directory = Directory::create(parent)?;
                    let path = directory.path.clone();
                    leaf.directories.push(directory);
                    path
                }
            };
            for bound in place.bounds(controller, bound) {
                match fs::write(path.join(bound.file), &bound.value) {
                    // Kernels without a count of swap have none of its files.
                    Err(error) if bound.optional && error.kind() == io::ErrorKind::NotFound => {}
                    written => written?,
                }
            }
            let (file, word) = place.events(controller);
            let counter = Counter {
                file: path.join(file),
                word,
                last: AtomicU64::new(0),
            };
            match controller {
                Controller::Memory => leaf.memory_events = Some(counter),
                Controller::Pids => leaf.pids_events = Some(counter),
            }
        }
        Ok(leaf)
    }

    /// What a process writes itself into.
    pub(crate) fn descriptors(&self) -> Vec<RawFd> {
        let open = self.directories.iter().map(|directory| &directory.processes);
        open.map(AsRawFd::as_raw_fd).collect()
    }

    /// What ran out since this was asked last.
    pub(crate) fn spent(&self) -> Spent {
        let grew = |counter: &Option<Counter>| counter.as_ref().is_some_and(Counter::grew);
        Spent {
            memory: grew(&self.memory_events),
            pids: grew(&self.pids_events),
        }
    }
}

impl Directory {
    fn create(parent: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut tries = 0;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match Self::at(path) {
                // Another host of the same number in another process namespace, or one that swept this name between the
                // making and the locking.
                Err(error)
                    if tries < TRIES
                        && (error.kind() == io::ErrorKind::AlreadyExists
                            || matches!(
                                error.raw_os_error(),
                                Some(libc::ENOENT | libc::ENODEV | libc::EWOULDBLOCK)
                            )) =>
                {
                    tries += 1;
                }
                made => return made,
            }
        }
    }

    fn at(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        let lock = locked(&path).map_err(io::Error::from)?;
        let processes = OpenOptions::new().write(true).open(path.join("cgroup.procs"))?;
        Ok(Self {
            path,
            _lock: lock,
            processes,
        })
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        for directory in &self.directories {
            for _ in 0..TRIES {
                match fs::remove_dir(&directory.path) {
                    // The kernel takes a moment to let go of the last process.
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(PAUSE),
                    // Whatever else keeps it is left to the next start's sweep.
                    Ok(()) | Err(_) => break,
                }
            }
        }
    }
}

impl Counter {
    fn grew(&self) -> bool {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let value = text.lines().find_map(|line| {
            let (word, value) = line.split_once(' ')?;
            (word == self.word).then(|| value.trim().parse().ok())?
        });
        let value = value.unwrap_or(0);
        self.last.swap(value, Ordering::Relaxed) < value
    }
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
