//! The private directory a store lives in (facts 2.4): real, ours, closed to group and others, never made to fit by
//! changing its permissions. Also opens single files under the same rules. Does not know what the files mean.

use crate::Error;
use rustix::fs::{Access, AtFlags, CWD, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const OTHERS: u32 = 0o077;

/// Whether a missing file is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// A directory that was found private, by its canonical path.
#[derive(Debug, Clone)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    /// Opens `path`, making it and its missing parents 0700, one by one, each made durable before the next.
    pub(crate) fn open(path: &Path, missing: Missing) -> Result<Self, Error> {
        let path = std::path::absolute(path).map_err(|source| Error::io("resolve", path, source))?;
        if missing == Missing::Create {
            create_all(&path)?;
        }
        check_directory(&path)?;
        let path = path
            .canonicalize()
            .map_err(|source| Error::io("resolve", &path, source))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether this process can make files here; read-only media and a closed directory both say no.
    pub(crate) fn is_writable(&self) -> Result<bool, Error> {
        match rustix::fs::accessat(CWD, &self.path, Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) => Ok(true),
            Err(Errno::ROFS | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(Error::io("inspect", &self.path, errno.into())),
        }
    }

    /// Makes the names of the directory durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        sync_directory(&self.path)
    }

    /// Opens a private file for reading and writing; `None` where it is missing and stays so.
    pub(crate) fn file(&self, name: &str, missing: Missing) -> Result<Option<File>, Error> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(missing == Missing::Create)
            .mode(0o600);
        self.open_file(name, options)
    }

    /// Opens a private file for reading, also where nothing can be written; `None` where it is missing.
    pub(crate) fn readable(&self, name: &str) -> Result<Option<File>, Error> {
        let mut options = OpenOptions::new();
        options.read(true);
        self.open_file(name, options)
    }

    /// The names of everything in the directory.
    pub(crate) fn names(&self) -> Result<Vec<OsString>, Error> {
        let fault = |source| Error::io("list", &self.path, source);
        std::fs::read_dir(&self.path)
            .map_err(fault)?
            .map(|entry| entry.map(|entry| entry.file_name()).map_err(fault))
            .collect()
    }

    fn open_file(&self, name: &str, mut options: OpenOptions) -> Result<Option<File>, Error> {
        let path = self.join(name);
        // Non-blocking, so that a fifo put in the file's place cannot make us hang.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
        loop {
            let file = match options.open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                    return Err(unsafe_path(&path, "it is a symbolic link"));
                }
                Err(source) => return Err(Error::io("open", &path, source)),
            };
            let opened = file.metadata().map_err(|source| Error::io("inspect", &path, source))?;
            if opened.nlink() == 0 {
                // Removed since, as an unused lock may be: it is as if it had been looked for a moment later.
                continue;
            }
            check_file(&path, &opened)?;
            return match self.is_named(&file, name)? {
                true => Ok(Some(file)),
                false if is_removed(&file) => continue,
                false => Err(unsafe_path(&path, "it was replaced while it was opened")),
            };
        }
    }

    /// Whether an open file still has this name.
    pub(crate) fn is_named(&self, file: &File, name: &str) -> Result<bool, Error> {
        let path = self.join(name);
        let opened = file.metadata().map_err(|source| Error::io("inspect", &path, source))?;
        match path.symlink_metadata() {
            Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::io("inspect", &path, source)),
        }
    }

    /// Checks a file by its name alone; `false` where it is missing. For files that SQLite holds: closing a descriptor of
    /// our own would drop SQLite's locks on them.
    pub(crate) fn check_name(&self, name: &str) -> Result<bool, Error> {
        let path = self.join(name);
        match path.symlink_metadata() {
            Ok(metadata) => check_file(&path, &metadata).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::io("inspect", &path, source)),
        }
    }
}

fn is_removed(file: &File) -> bool {
    file.metadata().is_ok_and(|status| status.nlink() == 0)
}

fn unsafe_path(path: &Path, reason: &'static str) -> Error {
    Error::UnsafePath {
        path: path.to_owned(),
        reason,
    }
}

fn create_all(path: &Path) -> Result<(), Error> {
    let mut missing = Vec::new();
    let mut current = path;
    while let Err(error) = current.symlink_metadata() {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(Error::io("inspect", current, error));
        }
        missing.push(current);
        match current.parent() {
            Some(parent) => current = parent,
            None => break,
        }
    }
    for directory in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(directory) {
            Ok(()) => {}
            // Another process makes the same store at this moment.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::io("create", directory, source)),
        }
        check_directory(directory)?;
        if let Some(parent) = directory.parent() {
            sync_directory(parent)?;
        }
    }
    Ok(())
}

fn sync_directory(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| Error::io("sync", path, source))
}

fn check_directory(path: &Path) -> Result<(), Error> {
    let metadata = path
        .symlink_metadata()
        .map_err(|source| Error::io("inspect", path, source))?;
    if metadata.is_symlink() {
        Err(unsafe_path(path, "it is a symbolic link"))
    } else if !metadata.is_dir() {
        Err(unsafe_path(path, "it is not a directory"))
    } else if metadata.mode() & OTHERS != 0 {
        Err(unsafe_path(path, "group or others have access; `chmod 700` closes it"))
    } else {
        check_owner(path, &metadata)
    }
}

fn check_file(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    if metadata.is_symlink() {
        Err(unsafe_path(path, "it is a symbolic link"))
    } else if !metadata.is_file() {
        Err(unsafe_path(path, "it is not a regular file"))
    } else if metadata.nlink() != 1 {
        Err(unsafe_path(path, "it has a second name"))
    } else if metadata.mode() & OTHERS != 0 {
        Err(unsafe_path(path, "group or others have access; `chmod 600` closes it"))
    } else {
        check_owner(path, metadata)
    }
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    if metadata.uid() == rustix::process::geteuid().as_raw() {
        Ok(())
    } else {
        Err(unsafe_path(path, "it belongs to another user"))
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
