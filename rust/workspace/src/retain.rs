//! Bytes kept by their digest in a private directory, and files replaced whole or not at all. Every write is to a
//! temporary file that is synced, renamed and its directory synced; every read checks the digest again. What the bytes
//! mean is for `artifacts`.

use crate::Error;
use coder_digest::Digest;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A private directory of kept bytes: `blobs/ab/cdef…` and `manifest-<hex>.json`.
#[derive(Debug, Clone)]
pub struct Retention {
    root: PathBuf,
}

impl Retention {
    /// The store at `root`, a directory only its owner can enter; made 0700 if it is missing. Its permissions are
    /// never changed to fit.
    ///
    /// # Errors
    /// [`Error::UnsafeStore`] when it is a link, no directory or open to others; [`Error::Write`] when it cannot be
    /// made.
    pub fn open(root: &Path) -> Result<Self, Error> {
        make_private(root)?;
        Ok(Self { root: root.to_owned() })
    }

    /// Where the bytes of `digest` are kept.
    fn blob(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let (first, rest) = hex.split_at(2);
        self.root.join("blobs").join(first).join(rest)
    }

    /// Where the manifest of `digest` is kept.
    pub(crate) fn manifest(&self, digest: &Digest) -> PathBuf {
        self.root.join(manifest_name(digest))
    }

    /// Keeps `bytes`, durably, and names them. Bytes already kept intact are not written again.
    ///
    /// # Errors
    /// [`Error::Write`], [`Error::UnsafeStore`].
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, Error> {
        let digest = Digest::of(bytes);
        let path = self.blob(&digest);
        if read_verified(&path, &digest, bytes.len() as u64).is_ok() {
            return Ok(digest);
        }
        make_private(&self.root.join("blobs"))?;
        if let Some(directory) = path.parent() {
            make_private(directory)?;
        }
        replace_file(&path, bytes)?;
        Ok(digest)
    }

    /// The bytes of `digest`, checked against it; at most `limit` of them.
    ///
    /// # Errors
    /// [`Error::Read`] when they are missing or too many, [`Error::Damaged`] when they are not what was kept.
    pub fn get(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, Error> {
        read_verified(&self.blob(digest), digest, limit)
    }
}

pub(crate) fn manifest_name(digest: &Digest) -> String {
    format!("manifest-{}.json", digest.hex())
}

/// Reads the regular file at `path`, not through a link, and checks its digest.
pub(crate) fn read_verified(path: &Path, digest: &Digest, limit: u64) -> Result<Vec<u8>, Error> {
    let fault = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(fault)?;
    let length = match file.metadata().map_err(fault)? {
        status if status.is_file() => status.len(),
        _ => return Err(fault(io::Error::other("not a regular file"))),
    };
    if length > limit {
        let message = format!("{length} bytes, more than the {limit} allowed");
        return Err(fault(io::Error::new(io::ErrorKind::FileTooLarge, message)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fault)?;
    if Digest::of(&bytes) == *digest {
        Ok(bytes)
    } else {
        Err(Error::Damaged { path: path.to_owned() })
    }
}

/// Makes `path` a private directory if nothing is there, or checks that it is one.
pub(crate) fn make_private(path: &Path) -> Result<(), Error> {
    let fault = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_parent(path).map_err(fault),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let status = path.symlink_metadata().map_err(fault)?;
            if status.is_dir() && status.mode() & 0o077 == 0 {
                Ok(())
            } else {
                Err(Error::UnsafeStore { path: path.to_owned() })
            }
        }
        Err(error) => Err(fault(error)),
    }
}

/// Replaces the file at `path`, 0600, with `bytes`: after a crash it is the old or the new one, whole.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let fault = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let name = path.file_name().unwrap_or_default().display();
    // A leading dot: readers of these directories never take such a name for a record.
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".{name}.{}-{unique}", std::process::id()));
    let written = write_synced(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| sync_parent(path));
    written.map_err(|error| {
        // The write's own fault is the one to report, whether or not anything was left to remove.
        let _ = std::fs::remove_file(&temporary);
        fault(error)
    })
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "retain_tests.rs"]
mod tests;
