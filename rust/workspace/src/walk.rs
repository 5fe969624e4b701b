//! The walk that makes a snapshot: a few threads list directories and hash files, each reaching what it opens only
//! through the descriptor of the directory it was found in. Whatever moved between two looks is a fault, never a
//! guess. Bounded in entries, bytes, threads, and in open descriptors by the depth of the tree.

use crate::Error;
use crate::cache::{DigestCache, Stamp};
use crate::descriptor::{self, Status};
use crate::read::kind_word;
use crate::snapshot::{Entry, Fault, Kind, Limits, MAXIMUM_FAULTS, Snapshot};
use coder_digest::{BytePath, Clock, Digest, Hasher};
use rayon::Scope;
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// More threads than this only fight over the disk.
const MAXIMUM_THREADS: usize = 8;

/// How many files of one directory one job hashes.
const FILES_PER_JOB: usize = 32;

const BUFFER_BYTES: u64 = 256 * 1024;

/// Four times longer than any path a program opens by its name. A tree made deeper, step by step, costs the square of its
/// depth and can only be meant to.
const PATH_BYTES: usize = 16 * 1024;

/// Observes trees.
#[derive(Clone, Copy)]
pub struct Observer<'a> {
    clock: &'a dyn Clock,
    limits: Limits,
    cache: Option<&'a DigestCache>,
    interrupt: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Observer<'a> {
    /// An observer under the default limits that reads every file. The clock decides only which digests are settled
    /// enough to be reused.
    pub fn new(clock: &'a dyn Clock) -> Self {
        Self {
            clock,
            limits: Limits::default(),
            cache: None,
            interrupt: &|| false,
        }
    }

    /// Under other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Reusing, and adding to, the digests in `cache`.
    #[must_use]
    pub fn cache(mut self, cache: &'a DigestCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Giving up as soon as `interrupt` says so; it is asked at every entry and every 256 KiB of content, by several threads.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Observes the tree at `root`. Trouble inside the tree, and a root that cannot be opened, are faults of the
    /// snapshot; look at [`Snapshot::is_complete`].
    ///
    /// # Errors
    /// [`Error::Threads`] when the machine gives no threads, [`Error::Interrupted`].
    pub fn observe(&self, root: &Path) -> Result<Snapshot, Error> {
        let walk = Walk {
            observer: *self,
            entries: Mutex::default(),
            faults: Mutex::default(),
            seen: AtomicU64::new(1),
            bytes: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
        };
        let canonical = match root.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) => {
                let fault = Fault::Root {
                    reason: error.to_string(),
                };
                return Ok(Snapshot::new(BytePath::from(root), Vec::new(), vec![fault], 0));
            }
        };
        match descriptor::open_root(&canonical).and_then(|root| Ok((Status::of(&root)?, root))) {
            Err(errno) => walk.fault(Fault::Root {
                reason: errno.to_string(),
            }),
            Ok((status, directory)) => {
                let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads.min(MAXIMUM_THREADS))
                    .thread_name(|index| format!("snapshot-{index}"))
                    .build()
                    .map_err(|source| Error::Threads {
                        source: io::Error::other(source),
                    })?;
                pool.scope(|scope| walk.directory(scope, directory, &status, BytePath::default()));
            }
        }
        if walk.interrupted.into_inner() {
            return Err(Error::Interrupted { path: canonical });
        }
        let unlock = |error: PoisonError<Vec<Entry>>| error.into_inner();
        let entries = walk.entries.into_inner().unwrap_or_else(unlock);
        let faults = walk.faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Snapshot::new(
            BytePath::from(canonical.as_path()),
            entries,
            faults.kept,
            faults.omitted,
        ))
    }
}

struct Walk<'a> {
    observer: Observer<'a>,
    entries: Mutex<Vec<Entry>>,
    faults: Mutex<Faults>,
    seen: AtomicU64,
    bytes: AtomicU64,
    /// Set once a limit is passed: what remains is not looked at.
    stopped: AtomicBool,
    interrupted: AtomicBool,
}

#[derive(Default)]
struct Faults {
    kept: Vec<Fault>,
    omitted: u64,
}

/// What one listing found and did not settle on the spot.
#[derive(Default)]
struct Listing {
    entries: Vec<Entry>,
    directories: Vec<Vec<u8>>,
    files: Vec<(Vec<u8>, Status)>,
}

/// The content of a large file, given up when the walk is.
struct Watched<'w, 's, R> {
    content: R,
    walk: &'w Walk<'s>,
}

impl<R: io::Read> io::Read for Watched<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.walk.is_over() {
            return Err(io::Error::other("the observation was given up"));
        }
        self.content.read(buffer)
    }
}

impl<'s> Walk<'s> {
    /// Records the directory, then its children. Children that are directories become jobs which open themselves
    /// from this one's descriptor: opened here, a directory of ten thousand would take ten thousand descriptors.
    fn directory<'w>(&'w self, scope: &Scope<'w>, directory: OwnedFd, status: &Status, path: BytePath)
    where
        's: 'w,
    {
        let mut listing = Listing::default();
        match self.list(&directory, &path, &mut listing) {
            Ok(()) => {}
            Err(errno) => return self.fault(read_fault(path, errno)),
        }
        // A name added or taken while we listed may or may not have been seen.
        match Status::of(&directory) {
            Ok(after) if status.steady(&after) => {}
            Ok(_) => self.fault(Fault::Changed { path: path.clone() }),
            Err(errno) => self.fault(read_fault(path.clone(), errno)),
        }
        listing.entries.push(Entry::new(path.clone(), status, Kind::Directory));
        self.record(listing.entries);
        let directory = Arc::new(directory);
        let mut files = listing.files;
        while files.len() > FILES_PER_JOB {
            let chunk = files.split_off(files.len() - FILES_PER_JOB);
            let (directory, path) = (Arc::clone(&directory), path.clone());
            scope.spawn(move |_| self.files(&directory, &path, &chunk));
        }
        for name in listing.directories {
            let (parent, path) = (Arc::clone(&directory), path.join(&name));
            if path.as_bytes().len() > PATH_BYTES {
                self.fault(read_fault(path, Errno::NAMETOOLONG));
                continue;
            }
            scope.spawn(move |scope| self.child(scope, &parent, &name, path));
        }
        self.files(&directory, &path, &files);
    }

    fn child<'w>(&'w self, scope: &Scope<'w>, parent: &OwnedFd, name: &[u8], path: BytePath)
    where
        's: 'w,
    {
        if self.is_over() {
            return;
        }
        let opened = descriptor::open_directory(parent, name).and_then(|child| Ok((Status::of(&child)?, child)));
        match opened {
            Ok((status, child)) => self.directory(scope, child, &status, path),
            Err(errno) => self.fault(read_fault(path, errno)),
        }
    }

    fn list(&self, directory: &OwnedFd, path: &BytePath, listing: &mut Listing) -> Result<(), Errno> {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
        let mut names = RawDir::new(directory.as_fd(), &mut buffer);
        while let Some(found) = names.next() {
            let name = found?.file_name().to_bytes().to_vec();
            if name == b"." || name == b".." {
                continue;
            }
            let limit = self.observer.limits.entries;
            if self.seen.fetch_add(1, Ordering::Relaxed) >= limit {
                self.stop(Fault::Entries { limit });
            }
            if self.is_over() {
                return Ok(());
            }
            let status = match Status::at(directory, &name) {
                Ok(status) => status,
                Err(errno) => {
                    self.fault(read_fault(path.join(&name), errno));
                    continue;
                }
            };
            match status.kind {
                FileType::Directory => listing.directories.push(name),
                FileType::RegularFile => listing.files.push((name, status)),
                FileType::Symlink => match descriptor::link_target(directory, &name) {
                    Ok(target) => listing.entries.push(Entry::new(
                        path.join(&name),
                        &status,
                        Kind::Symlink {
                            target: BytePath::new(target),
                        },
                    )),
                    Err(errno) => self.fault(read_fault(path.join(&name), errno)),
                },
                FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => {
                    let word = kind_word(status.kind).to_owned();
                    listing
                        .entries
                        .push(Entry::new(path.join(&name), &status, Kind::Other { word }));
                }
            }
        }
        Ok(())
    }

    fn files(&self, directory: &OwnedFd, path: &BytePath, files: &[(Vec<u8>, Status)]) {
        let mut entries = Vec::with_capacity(files.len());
        for (name, status) in files {
            if self.is_over() {
                break;
            }
            let path = path.join(name);
            let limit = self.observer.limits.bytes;
            if self
                .bytes
                .fetch_add(status.length, Ordering::Relaxed)
                .saturating_add(status.length)
                > limit
            {
                self.stop(Fault::Bytes { limit });
                break;
            }
            match self.file(directory, name, status) {
                Ok(Some(digest)) => entries.push(Entry::new(
                    path,
                    status,
                    Kind::File {
                        length: status.length,
                        digest,
                        modified: status.modified,
                    },
                )),
                Ok(None) => self.fault(Fault::Changed { path }),
                Err(error) => self.fault(Fault::Read {
                    path,
                    reason: error.to_string(),
                }),
            }
        }
        self.record(entries);
    }

    /// The digest of one file, known or read; nothing when it is not the file that was listed, or did not hold still.
    fn file(&self, directory: &OwnedFd, name: &[u8], listed: &Status) -> io::Result<Option<Digest>> {
        let stamp = Stamp::of(listed);
        if let Some(digest) = self.observer.cache.and_then(|cache| cache.get(&stamp)) {
            return Ok(Some(digest));
        }
        let descriptor = match descriptor::open_file(directory, name) {
            Ok(descriptor) => descriptor,
            Err(Errno::LOOP | Errno::NOENT | Errno::NXIO) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if !listed.steady(&Status::of(&descriptor)?) {
            return Ok(None);
        }
        let started = self.observer.clock.now();
        let mut file = File::from(descriptor);
        // One byte more than expected is enough to see that it grew; a file that grows for ever must not hold us.
        let content = Watched {
            content: (&mut file).take(listed.length.saturating_add(1)),
            walk: self,
        };
        let (digest, length) = hash(content, listed.length)?;
        if length != listed.length || !listed.steady(&Status::of(&file)?) {
            return Ok(None);
        }
        if let Some(cache) = self.observer.cache {
            cache.keep(stamp, digest, started);
        }
        Ok(Some(digest))
    }

    /// Whether what remains is not looked at any more.
    fn is_over(&self) -> bool {
        if !self.stopped.load(Ordering::Relaxed) && (self.observer.interrupt)() {
            self.interrupted.store(true, Ordering::Relaxed);
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    fn record(&self, mut entries: Vec<Entry>) {
        if !entries.is_empty() {
            self.entries
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .append(&mut entries);
        }
    }

    /// Itemises a fault, up to the number kept: a hostile tree must not turn detail into memory.
    fn fault(&self, fault: Fault) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.kept.len() < MAXIMUM_FAULTS {
            faults.kept.push(fault);
        } else {
            faults.omitted += 1;
        }
    }

    fn stop(&self, fault: Fault) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            // The limit is the fault that says why, so it is kept whatever was itemised before it.
            while faults.kept.len() >= MAXIMUM_FAULTS {
                faults.kept.pop();
                faults.omitted += 1;
            }
            faults.kept.push(fault);
        }
    }
}

fn hash(mut reader: impl io::Read, expected: u64) -> io::Result<(Digest, u64)> {
    let size = usize::try_from(expected.saturating_add(1).min(BUFFER_BYTES)).unwrap_or(1);
    let mut buffer = vec![0; size];
    let mut hasher = Hasher::new();
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finish(), hasher.bytes())),
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_fault(path: BytePath, errno: Errno) -> Fault {
    match errno {
        // Listed a moment ago as what it no longer is.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Fault::Changed { path },
        other => Fault::Read {
            path,
            reason: other.to_string(),
        },
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
