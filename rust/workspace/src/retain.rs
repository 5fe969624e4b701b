//! Bytes kept by their digest in a private directory, and files replaced whole or not at all. Every write is to a
//! temporary file that is synced, renamed and its directory synced; every read checks the permissions and the digest
//! again. Keeping many at once is `batch`'s; what the bytes mean is for `artifacts`.

use crate::Error;
use crate::batch::Batch;
use coder_digest::Digest;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The permissions of group and others.
const OTHERS: u32 = 0o077;

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
        let store = Self { root: root.to_owned() };
        store.check_blobs(&store.blobs())?;
        Ok(store)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where all kept bytes are.
    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Where the bytes of `digest` are kept.
    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let (first, rest) = hex.split_at(2);
        self.blobs().join(first).join(rest)
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
        let mut batch = Batch::new(self);
        let digest = batch.put(bytes)?;
        batch.commit()?;
        Ok(digest)
    }

    /// The bytes of `digest`, checked against it; at most `limit` of them.
    ///
    /// # Errors
    /// [`Error::Read`] when they are missing or too many, [`Error::Damaged`] when they are not what was kept,
    /// [`Error::UnsafeStore`] and [`Error::UnsafeFile`] when they lie behind a link or open to others.
    pub fn get(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, Error> {
        let path = self.blob(digest);
        self.check_blobs(&self.blobs())?;
        if let Some(directory) = path.parent() {
            self.check_blobs(directory)?;
        }
        read_verified(&path, digest, limit)
    }

    /// Checks a directory of kept bytes, where it is there.
    fn check_blobs(&self, path: &Path) -> Result<(), Error> {
        match path.symlink_metadata() {
            Ok(status) => check_private(path, &status),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Error::Read {
                path: path.to_owned(),
                source,
            }),
        }
    }
}

pub(crate) fn manifest_name(digest: &Digest) -> String {
    format!("manifest-{}.json", digest.hex())
}

/// Reads the private regular file at `path`, not through a link, and checks its digest.
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
        .map_err(|error| match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            true => Error::UnsafeFile { path: path.to_owned() },
            false => fault(error),
        })?;
    let length = match file.metadata().map_err(fault)? {
        status if status.is_file() && status.mode() & OTHERS == 0 => status.len(),
        _ => return Err(Error::UnsafeFile { path: path.to_owned() }),
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

/// Makes `path` a private directory if nothing is there, or checks that it is one; its name is then durable.
pub(crate) fn make_private(path: &Path) -> Result<(), Error> {
    match create_private(path)? {
        true => sync_parent(path).map_err(|source| write_fault(path, source)),
        false => Ok(()),
    }
}

/// As [`make_private`], but for the name, which is not durable yet. Whether it was made.
pub(crate) fn create_private(path: &Path) -> Result<bool, Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let status = path.symlink_metadata().map_err(|source| write_fault(path, source))?;
            check_private(path, &status).map(|()| false)
        }
        Err(error) => Err(write_fault(path, error)),
    }
}

fn check_private(path: &Path, status: &Metadata) -> Result<(), Error> {
    if status.is_dir() && status.mode() & OTHERS == 0 {
        Ok(())
    } else {
        Err(Error::UnsafeStore { path: path.to_owned() })
    }
}

pub(crate) fn write_fault(path: &Path, source: io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

/// Replaces the file at `path`, 0600, with `bytes`: after a crash it is the old or the new one, whole.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let temporary = temporary_name(path);
    let written = write_new(&temporary, bytes)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&temporary, path))
        .and_then(|()| sync_parent(path));
    written.map_err(|error| {
        // The write's own fault is the one to report, whether or not anything was left to remove.
        let _ = std::fs::remove_file(&temporary);
        write_fault(path, error)
    })
}

/// A name beside `path` that no other writer uses.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().display();
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    // A leading dot: readers of these directories never take such a name for a record.
    path.with_file_name(format!(".{name}.{}-{unique}", std::process::id()))
}

/// Writes a file, 0600, that is not durable yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    file.write_all(bytes)?;
    Ok(file)
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
