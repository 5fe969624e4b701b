//! Removing a directory tree that an agent wrote, links not followed, directories without permissions included.
//! Only for trees in which nothing runs any more.

use crate::Error;
use crate::descriptor::{self, Status};
use rustix::fs::{AtFlags, FileType, Mode, RawDir};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes `path` and all below it. What is not there is removed already.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    let fault = |source| Error::Remove {
        path: path.to_owned(),
        source,
    };
    match std::fs::remove_dir_all(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(fault)?;
            let opened = path.canonicalize().map_err(fault)?;
            let root = descriptor::open_root(&opened).map_err(|errno| fault(errno.into()))?;
            open_up(root).map_err(|errno| fault(errno.into()))?;
            std::fs::remove_dir_all(path).map_err(fault)
        }
        Err(error) => Err(fault(error)),
    }
}

/// Gives the owner back all rights to every directory below `root`. A list of open directories instead of recursion, so that no
/// depth overflows the stack; too deep for the descriptors we may have is an error.
fn open_up(root: OwnedFd) -> Result<(), Errno> {
    let mut pending = vec![root];
    while let Some(directory) = pending.pop() {
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
        let mut names = RawDir::new(directory.as_fd(), &mut buffer);
        while let Some(found) = names.next() {
            let name = found?.file_name().to_bytes().to_vec();
            if name == b"." || name == b".." || Status::at(&directory, &name)?.kind != FileType::Directory {
                continue;
            }
            // By name, since a directory without rights cannot be opened first; nothing runs here that could swap it.
            rustix::fs::chmodat(&directory, name.as_slice(), Mode::RWXU, AtFlags::empty())?;
            pending.push(descriptor::open_directory(&directory, &name)?);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "remove_tests.rs"]
mod tests;
