//! The file that a report of one command, or a page, goes to. Its directory is opened before the command runs and the file put there
//! by renaming after it, so that no link which the command leaves in a writable tree leads the report elsewhere, and a
//! place that cannot be written refuses before anything is run.

use crate::Error;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What is done about a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    Replace,
    /// It stays, and the act is refused.
    Keep,
}

/// A place for a report, held since before the command.
#[derive(Debug)]
pub struct ReportFile {
    act: &'static str,
    existing: Existing,
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

impl ReportFile {
    /// Opens the directory of `path` and makes sure that a file can be made in it.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot, or when `path` names something that is no plain file: renaming over a link or a
    /// device, as `/dev/stdout` is one, would destroy it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_for("write the report", path, Existing::Replace)
    }

    /// The same for a page.
    ///
    /// # Errors
    /// As [`ReportFile::open`]; also where a file is there that is to be kept.
    pub fn open_page(path: &Path, existing: Existing) -> Result<Self, Error> {
        Self::open_for("write the page", path, existing)
    }

    fn open_for(act: &'static str, path: &Path, existing: Existing) -> Result<Self, Error> {
        let refused = || Error::file(act, path);
        let name = path
            .file_name()
            .ok_or(std::io::ErrorKind::IsADirectory.into())
            .map_err(refused())?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, parent.unwrap_or(Path::new(".")), flags, Mode::empty())
            .map_err(std::io::Error::from)
            .map_err(refused())?;
        let place = Self {
            act,
            existing,
            path: path.to_owned(),
            directory,
            name: name.to_owned(),
        };
        match rustix::fs::statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) if !FileType::from_raw_mode(status.st_mode).is_file() => {
                return Err(refused()(std::io::Error::other(
                    "something that is no plain file is there",
                )));
            }
            Ok(_) if existing == Existing::Keep => return Err(refused()(there_already())),
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(refused()(error.into())),
        }
        // Made and removed again: nothing of ours lies there while the command runs.
        place.make().and_then(|_| place.remove()).map_err(refused())?;
        Ok(place)
    }

    /// Writes the whole content, or leaves what was there.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, content: &[u8]) -> Result<(), Error> {
        let written = self.make().and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            // In one act, so that a file which came to be there meanwhile is kept too.
            let flags = match self.existing {
                Existing::Replace => RenameFlags::empty(),
                Existing::Keep => RenameFlags::NOREPLACE,
            };
            let (from, to) = (self.new_name(), &self.name);
            match rustix::fs::renameat_with(&self.directory, from, &self.directory, to, flags) {
                Err(Errno::EXIST) => Err(there_already()),
                answer => Ok(answer?),
            }
        });
        written.map_err(|error| {
            // What is half written is ours, and the error is told either way.
            let _ = self.remove();
            Error::file(self.act, &self.path)(error)
        })
    }

    fn new_name(&self) -> OsString {
        let mut name = OsString::from(format!(".{}-", std::process::id()));
        name.push(&self.name);
        name
    }

    fn make(&self) -> std::io::Result<std::fs::File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, self.new_name(), flags, Mode::from_raw_mode(0o644))?;
        Ok(file.into())
    }

    fn remove(&self) -> std::io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.directory,
            self.new_name(),
            AtFlags::empty(),
        )?)
    }
}

fn there_already() -> std::io::Error {
    std::io::Error::other("a file is there already: --force replaces it")
}

#[cfg(test)]
#[path = "report_file_tests.rs"]
mod tests;
