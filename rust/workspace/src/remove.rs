//! Removing a directory tree that an agent wrote: links not followed, directories without permissions included, and nesting
//! deeper than a stack, a path or the descriptors we may have. Only for trees in which nothing runs any more.

use crate::Error;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// Removes `path` and all below it. What is not there is removed already.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    let removed = match open(CWD, path) {
        Err(Errno::NOENT) => return Ok(()),
        // A link or a file of that name is no tree.
        Err(Errno::NOTDIR | Errno::LOOP) => rustix::fs::unlink(path),
        Err(errno) => Err(errno),
        Ok(top) => empty(&top).and_then(|()| rustix::fs::rmdir(path)),
    };
    removed.map_err(|errno| Error::Remove {
        path: path.to_owned(),
        source: errno.into(),
    })
}

/// Removes what is in a directory. A directory below it is not entered where it lies but first moved up beside the others, so
/// that two descriptors are open at a time however deep an agent nested them.
fn empty(top: &OwnedFd) -> Result<(), Errno> {
    let mut pending: VecDeque<CString> = clear(top)?.into();
    let mut moved = 0_u64;
    while let Some(name) = pending.pop_front() {
        let directory = open(top.as_fd(), name.as_c_str())?;
        for inner in clear(&directory)? {
            // Its `..` changes with the move, for which the directory itself must be writable.
            rustix::fs::chmodat(&directory, &inner, Mode::RWXU, AtFlags::empty())?;
            pending.push_back(move_up(&directory, &inner, top, &mut moved)?);
        }
        rustix::fs::unlinkat(top, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Removes everything from `directory` but its directories, which are returned.
fn clear(directory: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    let mut directories = Vec::new();
    for name in names {
        match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
            Ok(()) => {}
            // POSIX has the second for a directory.
            Err(Errno::ISDIR | Errno::PERM) => directories.push(name),
            Err(errno) => return Err(errno),
        }
    }
    Ok(directories)
}

/// Moves a directory to the top under a name that nothing has there.
fn move_up(from: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> Result<CString, Errno> {
    loop {
        let free = CString::new(format!("moved-{moved}")).map_err(|_| Errno::INVAL)?;
        *moved += 1;
        match rustix::fs::renameat_with(from, name, top, &free, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(free),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Opens a directory, no link, and takes all rights to it.
fn open<P: rustix::path::Arg + Copy>(parent: BorrowedFd<'_>, name: P) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // By name, since it cannot be opened first; nothing runs here that could swap it.
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            rustix::fs::openat(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    rustix::fs::fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}

#[cfg(test)]
#[path = "remove_tests.rs"]
mod tests;
