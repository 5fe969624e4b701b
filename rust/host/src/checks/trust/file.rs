//! The trust store's one file, `{"v": 1, "records": [...]}`: only the owner's to read, replaced whole by renaming, written by one
//! process at a time. Says nothing of what a record means.

use super::{Approval, fault};
use crate::Error;
use coder_digest::json;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const VERSION: u32 = 1;
/// The largest file.
const BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    v: u32,
    records: Vec<Approval>,
}

/// The records of the file at `path`; none where it is missing.
pub(super) fn read(path: &Path) -> Result<Vec<Approval>, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("open the trust store", path)(error.into())),
    };
    let status = file.metadata().map_err(Error::file("look at the trust store", path))?;
    let owner = rustix::process::geteuid().as_raw();
    if !status.is_file() || status.nlink() != 1 || status.uid() != owner || status.mode() & 0o077 != 0 {
        return Err(fault(
            path,
            "it must be a plain file of yours with mode 0600 and one name: whoever can write it approves anything",
        ));
    }
    if status.len() > BYTES {
        return Err(fault(path, format!("it has more than {BYTES} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(BYTES)
        .read_to_end(&mut bytes)
        .map_err(Error::file("read the trust store", path))?;
    let stored: Stored =
        json::parse_as(&bytes, json::Limit(bytes.len())).map_err(|error| fault(path, error.to_string()))?;
    match stored.v {
        VERSION => Ok(stored.records),
        other => Err(fault(
            path,
            format!("its version is {other}, and {VERSION} is read here"),
        )),
    }
}

/// Replaces the records by what `change` makes of them. Whoever changes it at the same time waits.
pub(super) fn change(path: &Path, change: impl FnOnce(&mut Vec<Approval>)) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    private_directory(directory)?;
    let lock = beside(path, ".lock");
    let held = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&lock)
        .map_err(Error::file("open", &lock))?;
    held.lock().map_err(Error::file("lock", &lock))?;
    let mut records = read(path)?;
    change(&mut records);
    let stored = Stored { v: VERSION, records };
    let text = serde_json::to_string_pretty(&stored).map_err(|error| fault(path, error.to_string()))?;
    let written = (|| {
        let mut new = tempfile::Builder::new()
            .prefix(".capability-trust-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(directory)?;
        new.write_all(text.as_bytes())?;
        new.write_all(b"\n")?;
        new.as_file().sync_all()?;
        new.persist(path).map_err(|error| error.error)?;
        File::open(directory)?.sync_all()
    })();
    written.map_err(Error::file("write the trust store", path))
}

fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(ending);
    path.with_file_name(name)
}

/// The directory, made private where it is missing; one in which others may rename is refused.
fn private_directory(directory: &Path) -> Result<(), Error> {
    match DirBuilder::new().recursive(true).mode(0o700).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::file("create", directory)(error)),
    }
    let status = directory.metadata().map_err(Error::file("look at", directory))?;
    if status.mode() & 0o022 != 0 {
        return Err(fault(
            directory,
            "others may write in the trust store's directory, and could put another file in its place",
        ));
    }
    Ok(())
}
