//! Opens a log without trusting its name: no link is followed, no pipe waited for, and the file must be plain, its
//! owner's alone and of one name, judged on the open descriptor. Does not read it.

use crate::error::{Act, Error, Hazard};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What the opened file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Repair,
}

pub(crate) fn open(path: &Path, access: Access) -> Result<File, Error> {
    let found = OpenOptions::new()
        .read(true)
        .write(access == Access::Repair)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path);
    let hazardous = |hazard| Error::Unsafe {
        path: path.to_owned(),
        hazard,
    };
    let file = found.map_err(|source| {
        let errno = source.raw_os_error();
        if source.kind() == io::ErrorKind::NotFound {
            Error::Missing { path: path.to_owned() }
        } else if errno == Some(Errno::LOOP.raw_os_error()) {
            hazardous(Hazard::SymbolicLink)
        } else if [Errno::ISDIR, Errno::NXIO]
            .iter()
            .any(|kind| errno == Some(kind.raw_os_error()))
        {
            hazardous(Hazard::NotRegular)
        } else {
            Error::file(path, Act::Open, source)
        }
    })?;
    let facts = file.metadata().map_err(|source| Error::file(path, Act::Open, source))?;
    let hazard = if !facts.is_file() {
        Some(Hazard::NotRegular)
    } else if facts.nlink() > 1 {
        Some(Hazard::HardLinked)
    } else if facts.uid() != geteuid().as_raw() {
        Some(Hazard::Foreign)
    } else if facts.mode() & 0o077 != 0 {
        Some(Hazard::Accessible)
    } else {
        None
    };
    match hazard {
        Some(hazard) => Err(hazardous(hazard)),
        None => Ok(file),
    }
}
