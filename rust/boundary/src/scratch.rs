//! What is behind `/tmp` and the home of a boundary's commands. For several commands it is a real directory, which goes
//! with the boundary: what they leave there lasts from one to the next and does not fill memory. For a single command it
//! can be memory inside its own mount namespace, which costs a fraction and is nowhere on the host.

use crate::Error;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What is behind the private places of a boundary.
#[derive(Debug)]
pub enum Private {
    /// A directory of the host, shared by all commands of the boundary.
    Directory(Scratch),
    /// Memory of each command's own, at most as much as [`Resources::memory_bytes`](crate::Resources::memory_bytes).
    /// The next command finds nothing of it, and nothing of it is left behind, however host and command end.
    Memory,
}

impl From<Scratch> for Private {
    fn from(scratch: Scratch) -> Self {
        Self::Directory(scratch)
    }
}

impl Private {
    /// The directory, if there is one.
    pub(crate) fn scratch(&self) -> Option<&Scratch> {
        match self {
            Self::Directory(scratch) => Some(scratch),
            Self::Memory => None,
        }
    }
}

/// A fresh directory of mode 0700, removed with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
    /// The prepared root, in memory where the machine offers that: it is made of many tiny files.
    root: PathBuf,
}

/// What lies in the root's own filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    Link(PathBuf),
    File(Vec<u8>),
}

/// Where a machine keeps shared memory: a filesystem without a disk.
const MEMORY: &str = "/dev/shm";

/// The link in the scratch that leads to what it keeps there, for whoever has to clean up after a killed owner.
const MEMORY_LINK: &str = "memory";

impl Scratch {
    /// Makes one beneath `parent`, which must exist. Choose a place outside every granted tree.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be made, [`Error::Resolve`] when `parent` cannot be resolved.
    pub fn create(parent: &Path) -> Result<Self, Error> {
        let parent = fs::canonicalize(parent).map_err(|source| Error::Resolve {
            role: "scratch parent",
            path: parent.to_path_buf(),
            source,
        })?;
        let directory = private_directory(&parent).map_err(Error::file("create a scratch directory in", &parent))?;
        // Without shared memory, or with none left, the root is made beside the rest.
        let memory = private_directory(Path::new(MEMORY)).ok();
        let root = memory.as_ref().unwrap_or(&directory).join("root");
        let scratch = Self { directory, root };
        if let Some(memory) = memory {
            let link = scratch.directory.join(MEMORY_LINK);
            symlink(memory, &link).map_err(Error::file("create", link))?;
        }
        let places = [
            (scratch.root.clone(), 0o755),
            (scratch.home(), 0o700),
            (scratch.temporary(), 0o1777),
        ];
        for (path, mode) in places {
            fs::create_dir(&path).map_err(Error::file("create", &path))?;
            fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(Error::file("set the mode of", &path))?;
        }
        Ok(scratch)
    }

    /// The directory itself. Not visible inside the boundary.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// What commands see as their home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// What commands see as their directory for temporary files.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the root's own files. The map's order puts a directory before what lies in it.
    pub(crate) fn fill_root(&self, entries: &BTreeMap<PathBuf, Entry>) -> Result<(), Error> {
        for (path, entry) in entries {
            let path = self.root.join(path.strip_prefix("/").unwrap_or(path));
            let made = match entry {
                Entry::Directory => DirBuilder::new().mode(0o755).create(&path),
                Entry::Link(content) => symlink(content, &path),
                Entry::File(content) => {
                    let file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(&path);
                    file.and_then(|mut file| file.write_all(content))
                }
            };
            made.map_err(Error::file("create", path))?;
        }
        Ok(())
    }

    /// Removes it now and says whether that worked, which dropping cannot.
    ///
    /// # Errors
    /// [`Error::File`] with the first thing that could not be removed.
    pub fn remove(self) -> Result<(), Error> {
        let removed = Self::remove_leftover(&self.directory);
        std::mem::forget(self);
        removed
    }

    /// Removes a scratch whose owner was killed before it could; the caller knows that nothing uses it any more.
    ///
    /// # Errors
    /// [`Error::File`] with the first thing that could not be removed.
    pub fn remove_leftover(directory: &Path) -> Result<(), Error> {
        // Commands cannot write beside their home and `/tmp`, so the link is ours.
        if let Ok(memory) = fs::read_link(directory.join(MEMORY_LINK))
            && memory.parent() == Some(Path::new(MEMORY))
        {
            match fs::remove_dir_all(&memory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::File {
                        act: "remove the root",
                        path: memory,
                        source: error,
                    });
                }
                Ok(()) | Err(_) => {}
            }
        }
        remove_tree(directory).map_err(Error::file("remove the scratch", directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is left to tell; what could not be removed is private to this user.
        let _ = Self::remove_leftover(&self.directory);
    }
}

fn private_directory(parent: &Path) -> io::Result<PathBuf> {
    tempfile::Builder::new()
        .prefix("microcoder-")
        .permissions(Permissions::from_mode(0o700))
        .disable_cleanup(true)
        .tempdir_in(parent)
        .map(|directory| directory.path().to_path_buf())
}

/// Removes a tree whose content is hostile: files without permissions, names of any bytes, nesting deeper than a path
/// or a stack can follow. Each directory found is moved up to the top, so one descriptor is open at a time.
fn remove_tree(directory: &Path) -> io::Result<()> {
    let top = open_directory(rustix::fs::CWD, directory)?;
    let mut pending = VecDeque::from([CString::from(c".")]);
    let mut count = 0_u64;
    while let Some(name) = pending.pop_front() {
        let open = open_directory(top.as_fd(), &name)?;
        let at_top = name.as_bytes() == b".";
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&open)? {
            let entry = entry?.file_name().to_owned();
            if !matches!(entry.as_bytes(), b"." | b"..") {
                entries.push(entry);
            }
        }
        for entry in entries {
            match rustix::fs::unlinkat(&open, &entry, AtFlags::empty()) {
                Ok(()) => {}
                Err(Errno::ISDIR | Errno::PERM) if at_top => pending.push_back(entry),
                Err(Errno::ISDIR | Errno::PERM) => {
                    // Moving a directory writes its `..`, which needs permission on the directory itself.
                    rustix::fs::chmodat(&open, &entry, Mode::RWXU, AtFlags::empty())?;
                    let moved = loop {
                        let moved = CString::from_vec_with_nul(format!("moved-{count}\0").into_bytes())
                            .map_err(|_| io::ErrorKind::InvalidInput)?;
                        count += 1;
                        match rustix::fs::renameat_with(&open, &entry, &top, &moved, rustix::fs::RenameFlags::NOREPLACE)
                        {
                            Ok(()) => break moved,
                            Err(Errno::EXIST) => {}
                            Err(errno) => return Err(errno.into()),
                        }
                    };
                    pending.push_back(moved);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        if !at_top {
            rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
    fs::remove_dir(directory)
}

/// Opens a directory for listing and changing, whatever permissions a command left on it.
fn open_directory<P: rustix::path::Arg + Copy>(parent: BorrowedFd<'_>, name: P) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    rustix::fs::fchmod(&open, Mode::RWXU)?;
    Ok(open)
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
