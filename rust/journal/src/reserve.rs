//! Disk space held back so that on a full disk the last record of a run still lands: a run that ends because nothing
//! could be written must not look like a run that vanished. Given up by an ending or a cancel, taken again at the next open.

use crate::Error;
use crate::directory::{Missing, PrivateDirectory};
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io::Write as _;

const NAME: &str = "journal.reserve";
/// Room for an ending of ordinary size, the pages it touches and the index of the write-ahead log.
const BYTES: usize = 256 * 1024;

/// Takes the space, or what there is of it: a store on a full disk must still open.
pub(crate) fn hold(directory: &PrivateDirectory) -> Result<(), Error> {
    let Some(mut file) = directory.file(NAME, Missing::Create)? else {
        return Ok(());
    };
    let path = directory.join(NAME);
    let length = file
        .metadata()
        .map_err(|source| Error::io("inspect", &path, source))?
        .len();
    if length == BYTES as u64 {
        return Ok(());
    }
    match allocate(&mut file).map_err(|source| Error::io("allocate", &path, source)) {
        Err(Error::DiskFull { .. }) => release(directory),
        other => other,
    }
}

fn allocate(file: &mut File) -> std::io::Result<()> {
    match rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, BYTES as u64) {
        Err(rustix::io::Errno::OPNOTSUPP) => file.write_all(&vec![0; BYTES]),
        other => other.map_err(Into::into),
    }
}

/// Gives the space up.
pub(crate) fn release(directory: &PrivateDirectory) -> Result<(), Error> {
    match directory.file(NAME, Missing::Refuse)? {
        Some(file) => file
            .set_len(0)
            .map_err(|source| Error::io("truncate", &directory.join(NAME), source)),
        None => Ok(()),
    }
}
