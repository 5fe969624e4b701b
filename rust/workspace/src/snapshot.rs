//! A whole directory tree as it was observed (facts 9.7): every entry, without ignore rules, or the faults that kept
//! the observation partial. Holds the values and their digest; the walk that makes them is in `walk`, the comparison
//! in `changes`. An incomplete snapshot can be shown and kept, but never compared.

use crate::descriptor::{FileTime, Status};
use coder_digest::{BytePath, Digest, Hasher};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// The most faults one snapshot itemises; the rest are counted.
pub const MAXIMUM_FAULTS: usize = 64;

const SCHEMA: &str = "openagents.coder.workspace-snapshot.v1";

/// How much one snapshot may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most entries, the root and failed ones included.
    pub entries: u64,
    /// The most bytes of file content, those whose digest was known already included.
    pub bytes: u64,
}

impl Default for Limits {
    /// 200,000 entries and 16 GiB.
    fn default() -> Self {
        Self {
            entries: 200_000,
            bytes: 16 << 30,
        }
    }
}

/// The identity that survives a rename. In JSON `device:inode` as text, since either may pass 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

impl Serialize for FileId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}:{}", self.device, self.inode))
    }
}

impl<'de> Deserialize<'de> for FileId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.split_once(':')
            .and_then(|(device, inode)| {
                Some(Self {
                    device: device.parse().ok()?,
                    inode: inode.parse().ok()?,
                })
            })
            .ok_or_else(|| serde::de::Error::custom("a file identity is written `device:inode`"))
    }
}

/// What one path is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Bytes of content.
        length: u64,
        /// Their digest.
        #[serde(with = "coder_digest::bare")]
        digest: Digest,
        /// When the content was last written.
        modified: FileTime,
    },
    /// A symbolic link, by what it holds and never by what that names.
    Symlink {
        /// The exact target.
        target: BytePath,
    },
    /// A pipe, socket or device, by the word for it.
    Other {
        /// `fifo`, `socket`, `char device`, `block device` or `other`.
        word: String,
    },
}

impl Kind {
    /// The kind word that enters the snapshot's digest.
    pub fn word(&self) -> &str {
        match self {
            Self::Directory => "directory",
            Self::File { .. } => "file",
            Self::Symlink { .. } => "symlink",
            Self::Other { word } => word,
        }
    }
}

/// One observed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the root; the root itself is the empty path.
    pub path: BytePath,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
    /// The low twelve mode bits.
    pub mode: u32,
    /// Which inode it is.
    pub inode: FileId,
    /// When the inode was made, where the file system knows: it tells a renamed file from a new one that was given
    /// a freed inode number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<FileTime>,
}

impl Entry {
    pub(crate) fn new(path: BytePath, status: &Status, kind: Kind) -> Self {
        Self {
            path,
            kind,
            mode: status.mode,
            inode: FileId {
                device: status.device,
                inode: status.inode,
            },
            born: status.born,
        }
    }
}

/// What kept a snapshot from being complete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// The root could not be opened.
    Root {
        /// What the kernel said.
        reason: String,
    },
    /// A path could not be read.
    Read {
        /// Relative to the root.
        path: BytePath,
        /// What the kernel said.
        reason: String,
    },
    /// A path changed while it was being observed.
    Changed {
        /// Relative to the root.
        path: BytePath,
    },
    /// More entries than allowed.
    Entries {
        /// The limit.
        limit: u64,
    },
    /// More bytes of content than allowed.
    Bytes {
        /// The limit.
        limit: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root { reason } => write!(formatter, "the workspace cannot be opened: {reason}"),
            Self::Read { path, reason } => write!(formatter, "`{path}` cannot be read: {reason}"),
            Self::Changed { path } => write!(formatter, "`{path}` changed while it was observed"),
            Self::Entries { limit } => write!(formatter, "the workspace has more than {limit} entries"),
            Self::Bytes { limit } => write!(formatter, "the workspace holds more than {limit} bytes of file content"),
        }
    }
}

/// One observation of a tree. Equal snapshots are equal in every identity and time, not only in content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    root: BytePath,
    /// Sorted by [`by_component`], no path twice.
    entries: Vec<Entry>,
    faults: Vec<Fault>,
    omitted_faults: u64,
}

impl Snapshot {
    pub(crate) fn new(root: BytePath, mut entries: Vec<Entry>, mut faults: Vec<Fault>, omitted_faults: u64) -> Self {
        entries.sort_unstable_by(|left, right| by_component(left.path.as_bytes(), right.path.as_bytes()));
        faults.sort_unstable();
        Self {
            root,
            entries,
            faults,
            omitted_faults,
        }
    }

    /// The canonical path that was observed.
    pub fn root(&self) -> &BytePath {
        &self.root
    }

    /// Every entry, sorted by path components.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at `path`, relative to the root.
    pub fn entry(&self, path: &[u8]) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| by_component(entry.path.as_bytes(), path))
            .ok()
            .and_then(|index| self.entries.get(index))
    }

    /// The faults, sorted, at most [`MAXIMUM_FAULTS`].
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many faults more there were.
    pub fn omitted_faults(&self) -> u64 {
        self.omitted_faults
    }

    /// Whether the whole tree was observed.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty()
    }

    /// Bytes of file content the snapshot covers.
    pub fn content_bytes(&self) -> u64 {
        let length = |entry: &Entry| match entry.kind {
            Kind::File { length, .. } => length,
            Kind::Directory | Kind::Symlink { .. } | Kind::Other { .. } => 0,
        };
        self.entries.iter().map(length).sum()
    }

    /// Directories that are repositories of their own, at any depth below the root: their hooks and configuration
    /// would run unsandboxed once somebody uses them, so a candidate that brings some needs a person's eye.
    pub fn nested_repositories(&self) -> Vec<BytePath> {
        let nested = |entry: &Entry| {
            let parent = entry.path.as_bytes().strip_suffix(b"/.git")?;
            Some(BytePath::new(parent))
        };
        self.entries.iter().filter_map(nested).collect()
    }

    /// The digest that names this observation, written bare wherever it is recorded.
    ///
    /// SHA-256 over, for each entry in component order: the path, `0x00`, the kind word; for a file its length
    /// (64 bits, little-endian), the 32 bytes of its content's digest and its mode (32 bits, little-endian); for a
    /// directory or special file its mode; for a link its target and mode; then `0xff`. After the entries each fault's
    /// text, then `0xff`. Times and inodes do not enter it, so a copy of a tree has the digest of the tree.
    ///
    /// The fields are not framed by their lengths. That is fixed by the specification; it stays unambiguous because
    /// neither a path nor a target holds the `0x00` that must follow every path.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        for entry in &self.entries {
            hasher.update(entry.path.as_bytes());
            hasher.update(&[0]);
            hasher.update(entry.kind.word().as_bytes());
            match &entry.kind {
                Kind::File { length, digest, .. } => {
                    hasher.update(&length.to_le_bytes());
                    hasher.update(digest.as_bytes());
                }
                Kind::Symlink { target } => hasher.update(target.as_bytes()),
                Kind::Directory | Kind::Other { .. } => {}
            }
            hasher.update(&entry.mode.to_le_bytes());
            hasher.update(&[0xff]);
        }
        for fault in &self.faults {
            hasher.update(fault.to_string().as_bytes());
            hasher.update(&[0xff]);
        }
        hasher.finish()
    }
}

/// Orders paths by their components: `a/b` before `a-b`, as a directory's content stands together.
pub(crate) fn by_component(left: &[u8], right: &[u8]) -> Ordering {
    // No name holds a NUL, so a separator that sorts as one sorts before every other byte.
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    left.iter().map(key).cmp(right.iter().map(key))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    root: BytePath,
    #[serde(with = "coder_digest::bare")]
    digest: Digest,
    entries: Vec<Entry>,
    faults: Vec<Fault>,
    omitted_faults: u64,
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            schema: SCHEMA.to_owned(),
            root: self.root.clone(),
            digest: self.digest(),
            entries: self.entries.clone(),
            faults: self.faults.clone(),
            omitted_faults: self.omitted_faults,
        }
        .serialize(serializer)
    }
}

/// Reads a kept snapshot back. Refuses another schema, entries out of order, and content that does not have the
/// digest written with it.
impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refuse = |reason: &str| Err(serde::de::Error::custom(reason));
        let written = Written::deserialize(deserializer)?;
        if written.schema != SCHEMA {
            return refuse("the snapshot has another schema");
        }
        let sorted = |pair: &[Entry]| match pair {
            [left, right] => by_component(left.path.as_bytes(), right.path.as_bytes()) == Ordering::Less,
            _ => false,
        };
        if !written.entries.windows(2).all(sorted) {
            return refuse("the snapshot's entries are out of order");
        }
        let snapshot = Self {
            root: written.root,
            entries: written.entries,
            faults: written.faults,
            omitted_faults: written.omitted_faults,
        };
        if snapshot.digest() != written.digest {
            return refuse("the snapshot does not have the digest written with it");
        }
        Ok(snapshot)
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
