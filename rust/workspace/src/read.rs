//! Reads of single files that cannot leave the workspace (facts 7.5): each component is opened relative to its
//! parent, no link is followed, only a regular file with one name is read. What was found, what is absent, what is
//! refused and what failed half way are four different answers. Nothing here lists directories.

use crate::Error;
use crate::descriptor::{self, Status};
use coder_digest::{Digest, display_bytes};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// How many bytes one read may return: from 1 to 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadCap(usize);

impl ReadCap {
    /// The largest cap.
    pub const MAXIMUM: Self = Self(1024 * 1024);

    /// A cap of `bytes`.
    ///
    /// # Errors
    /// [`Error::ReadCap`] for 0 or more than 1 MiB.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        if (1..=Self::MAXIMUM.0).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(Error::ReadCap { bytes })
        }
    }

    /// The cap in bytes.
    pub fn bytes(self) -> usize {
        self.0
    }
}

/// What one read saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The file is there.
    Found {
        /// Its first bytes, at most the cap.
        bytes: Vec<u8>,
        /// The digest of exactly these bytes.
        digest: Digest,
        /// The file's whole length when it was opened; more than `bytes` holds when the cap cut it.
        total: u64,
    },
    /// Nothing has this name, which is an answer and not a fault.
    Absent,
    /// Confinement forbids the read; nothing was read.
    Refused(Refusal),
    /// The read began and failed: the observation is incomplete.
    ReadError {
        /// What had been read.
        partial: Vec<u8>,
        /// The digest of `partial`.
        digest: Digest,
        /// What the kernel said.
        reason: String,
    },
}

impl Observation {
    /// Whether bytes of the file were left out because of the cap.
    pub fn truncated(&self) -> bool {
        matches!(self, Self::Found { bytes, total, .. } if (bytes.len() as u64) < *total)
    }
}

/// Why a read was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The path is empty, has a NUL byte or an empty name where a file should stand.
    Malformed,
    /// The path has a `..` component.
    Parent,
    /// An absolute path outside the workspace.
    Outside,
    /// This component is a symbolic link.
    Symlink(String),
    /// A component before the last is no directory.
    NotDirectory(String),
    /// The last component is a directory, pipe, socket or device.
    NotRegular(&'static str),
    /// The file has more than one name, so its content may belong to a file outside the workspace.
    HardLinked {
        /// How many names it has.
        links: u32,
    },
    /// The kernel denied opening this component.
    Denied(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("the path is empty or holds a NUL byte"),
            Self::Parent => formatter.write_str("the path holds `..`"),
            Self::Outside => formatter.write_str("the path is outside the workspace"),
            Self::Symlink(component) => write!(formatter, "`{component}` is a symbolic link"),
            Self::NotDirectory(component) => write!(formatter, "`{component}` is not a directory"),
            Self::NotRegular(kind) => write!(formatter, "the path names a {kind}, not a regular file"),
            Self::HardLinked { links } => {
                write!(
                    formatter,
                    "the file has {links} names and may be shared with a file outside the workspace"
                )
            }
            Self::Denied(component) => write!(formatter, "opening `{component}` is not permitted"),
        }
    }
}

/// A workspace held by its descriptor, to read files under it.
///
/// The descriptor stays on the directory it was opened on, whatever its path names later.
#[derive(Debug)]
pub struct Confined {
    root: OwnedFd,
    names: Vec<PathBuf>,
}

impl Confined {
    /// Holds the workspace at `root`, a canonical absolute path.
    ///
    /// # Errors
    /// [`Error::OpenRoot`] when the path, or any component of it, is not a real directory.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let descriptor = descriptor::open_root(root).map_err(|source| Error::OpenRoot {
            path: root.to_owned(),
            source: source.into(),
        })?;
        Ok(Self {
            root: descriptor,
            names: vec![root.to_owned()],
        })
    }

    /// The same workspace known under one more absolute path, such as `/workspace` inside a container.
    #[must_use]
    pub fn also_at(mut self, path: impl Into<PathBuf>) -> Self {
        self.names.push(path.into());
        self
    }

    /// Reads at most `cap` bytes of the file at `path`, relative to the workspace or absolute inside it.
    pub fn read(&self, path: &Path, cap: ReadCap) -> Observation {
        match self.locate(path) {
            Ok(file) => Self::take(file, cap),
            Err(answer) => answer,
        }
    }

    /// The opened file at `path` and its status, or the answer that ends the read.
    fn locate(&self, path: &Path) -> Result<(File, Status), Observation> {
        let refused = |refusal| Err(Observation::Refused(refusal));
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() || bytes.contains(&0) {
            return refused(Refusal::Malformed);
        }
        let components = |bytes: &[u8]| bytes.split(|byte| *byte == b'/').any(|component| component == b"..");
        if components(bytes) {
            return refused(Refusal::Parent);
        }
        let relative = if path.is_absolute() {
            // Compared by whole components, so that `/work-2` is not inside `/work`.
            match self.names.iter().find_map(|name| path.strip_prefix(name).ok()) {
                Some(relative) => relative,
                None => return refused(Refusal::Outside),
            }
        } else {
            path
        };
        let mut names: Vec<&[u8]> = relative
            .as_os_str()
            .as_bytes()
            .split(|byte| *byte == b'/')
            .filter(|component| !matches!(*component, b"" | b"."))
            .collect();
        let Some(leaf) = names.pop() else {
            return refused(Refusal::NotRegular("directory"));
        };
        let mut held: Option<OwnedFd> = None;
        for name in names {
            let parent = held.as_ref().unwrap_or(&self.root);
            held = Some(descriptor::open_directory(parent, name).map_err(|errno| Self::why(parent, name, errno))?);
        }
        let parent = held.as_ref().unwrap_or(&self.root);
        let file = descriptor::open_file(parent, leaf).map_err(|errno| Self::why(parent, leaf, errno))?;
        let status = Status::of(&file).map_err(|errno| failed(Vec::new(), errno))?;
        // A final slash asks for a directory; a file does not answer to it.
        if status.kind != FileType::RegularFile || bytes.ends_with(b"/") {
            return refused(Refusal::NotRegular(kind_word(status.kind)));
        }
        if status.links != 1 {
            return refused(Refusal::HardLinked { links: status.links });
        }
        Ok((File::from(file), status))
    }

    /// Puts a failed open into words. The component is looked at again for that alone: the answer refuses either way.
    fn why(parent: &OwnedFd, name: &[u8], errno: Errno) -> Observation {
        let component = display_bytes(name);
        match errno {
            Errno::NOENT => Observation::Absent,
            Errno::LOOP => Observation::Refused(Refusal::Symlink(component)),
            Errno::NOTDIR => match Status::at(parent, name) {
                Ok(status) if status.kind == FileType::Symlink => Observation::Refused(Refusal::Symlink(component)),
                _ => Observation::Refused(Refusal::NotDirectory(component)),
            },
            Errno::ACCESS | Errno::PERM => Observation::Refused(Refusal::Denied(component)),
            // A socket answers an open with this.
            Errno::NXIO => Observation::Refused(Refusal::NotRegular("socket or device")),
            Errno::NAMETOOLONG => Observation::Absent,
            other => failed(Vec::new(), other),
        }
    }

    fn take((file, status): (File, Status), cap: ReadCap) -> Observation {
        let wanted = cap.bytes();
        let mut bytes = Vec::with_capacity(wanted.min(usize::try_from(status.length).unwrap_or(wanted)));
        match file.take(wanted as u64).read_to_end(&mut bytes) {
            Ok(read) => Observation::Found {
                digest: Digest::of(&bytes),
                // Short of the cap the end was seen, whatever the length was when the file was opened.
                total: if read < wanted {
                    read as u64
                } else {
                    status.length.max(read as u64)
                },
                bytes,
            },
            Err(error) => failed(bytes, error),
        }
    }
}

fn failed(partial: Vec<u8>, reason: impl fmt::Display) -> Observation {
    Observation::ReadError {
        digest: Digest::of(&partial),
        partial,
        reason: reason.to_string(),
    }
}

/// The kind of a file in a word, as snapshots and refusals name it.
pub(crate) fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "char device",
        FileType::BlockDevice => "block device",
        FileType::Unknown => "other",
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
