//! Many pieces of bytes kept at once, for the price of two syncs and not of two for each. Nothing has its final name before
//! all bytes are durable, and the batch is kept only once all names are; what refers to the bytes must be written after that.

use crate::Error;
use crate::retain::{Retention, create_private, read_verified, sync_parent, temporary_name, write_fault, write_new};
use coder_digest::Digest;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Up to here files are synced one by one; above, the whole file system is, which also waits for what others wrote.
const FEW: usize = 8;

/// Bytes being kept. Dropped before [`Batch::commit`], it leaves none of them.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    store: &'a Retention,
    /// Where each digest's bytes are now, and where they will be.
    written: BTreeMap<Digest, (PathBuf, PathBuf)>,
    /// Directories found private since the batch began.
    checked: BTreeSet<PathBuf>,
    /// Directories with a name in them that may not be durable.
    directories: BTreeSet<PathBuf>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(store: &'a Retention) -> Self {
        Self {
            store,
            written: BTreeMap::new(),
            checked: BTreeSet::new(),
            directories: BTreeSet::new(),
        }
    }

    /// Writes `bytes`, not durably yet. Bytes already kept intact are not written again.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Digest, Error> {
        let digest = Digest::of(bytes);
        if self.written.contains_key(&digest) {
            return Ok(digest);
        }
        let path = self.store.blob(&digest);
        let blobs = self.store.blobs();
        self.directory(&blobs)?;
        if let Some(directory) = path.parent() {
            self.directory(directory)?;
        }
        if read_verified(&path, &digest, bytes.len() as u64).is_ok() {
            // Its age counts anew: whoever clears up by age must see that it is used again.
            refresh(&path).map_err(|source| write_fault(&path, source))?;
            // Another batch may have named it a moment ago.
            self.directories.extend(path.parent().map(Path::to_owned));
            return Ok(digest);
        }
        let temporary = temporary_name(&path);
        let written = write_new(&temporary, bytes);
        self.written.insert(digest, (temporary, path.clone()));
        written.map_err(|source| write_fault(&path, source))?;
        Ok(digest)
    }

    fn directory(&mut self, path: &Path) -> Result<(), Error> {
        if !self.checked.contains(path) && create_private(path)? {
            self.directories.extend(path.parent().map(Path::to_owned));
        }
        self.checked.insert(path.to_owned());
        Ok(())
    }

    /// Makes all of it durable under its names.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        let root = self.store.root().to_owned();
        let fault = |source| write_fault(&root, source);
        let many = self.written.len() > FEW;
        if many {
            sync_all(&root).map_err(fault)?;
        } else {
            for (temporary, path) in self.written.values() {
                File::open(temporary)
                    .and_then(|file| file.sync_all())
                    .map_err(|source| write_fault(path, source))?;
            }
        }
        while let Some((_, (temporary, path))) = self.written.pop_first() {
            if let Err(source) = std::fs::rename(&temporary, &path) {
                let _ = std::fs::remove_file(&temporary);
                return Err(write_fault(&path, source));
            }
            self.directories.extend(path.parent().map(Path::to_owned));
        }
        if many {
            return sync_all(&root).map_err(fault);
        }
        for directory in &self.directories {
            // Of the directory itself: the parent of any name in it.
            sync_parent(&directory.join("name")).map_err(|source| write_fault(directory, source))?;
        }
        Ok(())
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        for (temporary, _) in self.written.values() {
            // Whoever drops a batch has a fault of its own to report; readers pass over what stays.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn refresh(path: &Path) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Writes back everything of the file system that holds `path`.
fn sync_all(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(path)?)?)
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
