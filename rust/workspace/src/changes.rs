//! What changed between two complete observations of one tree: created, removed, modified, renamed or retyped, in a
//! fixed order. Compares what was recorded and looks at no file. It does not say who changed anything.

use crate::Error;
use crate::descriptor::FileTime;
use crate::snapshot::{Entry, FileId, Kind, Snapshot, by_component};
use coder_digest::BytePath;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;

/// One change, written with the tag `change`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The path is new.
    Created {
        /// Relative to the root.
        path: BytePath,
    },
    /// The path is gone.
    Removed {
        /// Relative to the root.
        path: BytePath,
    },
    /// The path is what it was, with a difference.
    Modified {
        /// Relative to the root.
        path: BytePath,
        /// The difference that weighs most.
        #[serde(default)]
        aspect: Aspect,
    },
    /// The same inode under another path.
    Renamed {
        /// The path before.
        from: BytePath,
        /// The path after.
        to: BytePath,
        /// Whether it also changed.
        altered: Alteration,
    },
    /// The path is another kind of thing.
    Retyped {
        /// Relative to the root.
        path: BytePath,
    },
}

/// What is different about a modified path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// The bytes of a file or the target of a link, and perhaps more.
    #[default]
    Content,
    /// The mode but not the content.
    Mode,
    /// Only the time of writing or the inode: rewritten with what it held before.
    Rewritten,
}

/// Whether a renamed entry also changed; in JSON a boolean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alteration {
    /// Moved only.
    Unaltered,
    /// Moved, and its content or mode changed.
    Altered,
}

impl Serialize for Alteration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self == Self::Altered)
    }
}

impl<'de> Deserialize<'de> for Alteration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(if bool::deserialize(deserializer)? {
            Self::Altered
        } else {
            Self::Unaltered
        })
    }
}

impl Change {
    /// The path by which the change is sorted: where the entry was, or is when it is new.
    pub fn path(&self) -> &BytePath {
        match self {
            Self::Created { path } | Self::Removed { path } | Self::Modified { path, .. } | Self::Retyped { path } => {
                path
            }
            Self::Renamed { from, .. } => from,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { path } => write!(formatter, "A {path}"),
            Self::Removed { path } => write!(formatter, "D {path}"),
            Self::Modified { path, aspect } => match aspect {
                Aspect::Content => write!(formatter, "M {path}"),
                Aspect::Mode => write!(formatter, "M {path} (mode)"),
                Aspect::Rewritten => write!(formatter, "M {path} (same content)"),
            },
            Self::Renamed { from, to, altered } => match altered {
                Alteration::Unaltered => write!(formatter, "R {from} -> {to}"),
                Alteration::Altered => write!(formatter, "R {from} -> {to} (altered)"),
            },
            Self::Retyped { path } => write!(formatter, "T {path}"),
        }
    }
}

/// Everything that changed from `before` to `after`, sorted by path components.
///
/// # Errors
/// [`Error::SnapshotIncomplete`] when either is incomplete, since nothing can be concluded from part of a tree;
/// [`Error::SnapshotRoots`] when they are of different trees.
pub fn changes(before: &Snapshot, after: &Snapshot) -> Result<Vec<Change>, Error> {
    for snapshot in [before, after] {
        if let Some(fault) = snapshot.faults().first() {
            return Err(Error::SnapshotIncomplete {
                root: snapshot.root().clone(),
                fault: fault.to_string(),
            });
        }
    }
    if before.root() != after.root() {
        return Err(Error::SnapshotRoots {
            before: before.root().clone(),
            after: after.root().clone(),
        });
    }
    let (mut removed, mut created, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let (mut left, mut right) = (before.entries().iter().peekable(), after.entries().iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => by_component(old.path.as_bytes(), new.path.as_bytes()),
        };
        match order {
            Ordering::Less => removed.extend(left.next()),
            Ordering::Greater => created.extend(right.next()),
            Ordering::Equal => {
                if let (Some(old), Some(new)) = (left.next(), right.next()) {
                    found.extend(same_path(old, new));
                }
            }
        }
    }
    moved(removed, created, &mut found);
    found.sort_by(|one, other| by_component(one.path().as_bytes(), other.path().as_bytes()));
    Ok(found)
}

fn same_path(old: &Entry, new: &Entry) -> Option<Change> {
    let path = new.path.clone();
    if old == new {
        None
    } else if old.kind.word() != new.kind.word() {
        Some(Change::Retyped { path })
    } else {
        let aspect = if !same_content(&old.kind, &new.kind) {
            Aspect::Content
        } else if old.mode != new.mode {
            Aspect::Mode
        } else {
            Aspect::Rewritten
        };
        Some(Change::Modified { path, aspect })
    }
}

fn same_content(old: &Kind, new: &Kind) -> bool {
    match (old, new) {
        (
            Kind::File { length, digest, .. },
            Kind::File {
                length: new_length,
                digest: new_digest,
                ..
            },
        ) => (length, digest) == (new_length, new_digest),
        (Kind::Directory | Kind::Symlink { .. } | Kind::Other { .. }, _) | (Kind::File { .. }, _) => old == new,
    }
}

/// Pairs what went with what came. Only a pair that is the only one of its inode on both sides is a rename: among
/// several names of one file there is no telling which became which.
fn moved(removed: Vec<&Entry>, created: Vec<&Entry>, found: &mut Vec<Change>) {
    type Identity<'a> = (FileId, Option<FileTime>, &'a str);
    fn identity(entry: &Entry) -> Identity<'_> {
        (entry.inode, entry.born, entry.kind.word())
    }
    fn counted<'a>(entries: &[&'a Entry]) -> HashMap<Identity<'a>, Option<&'a Entry>> {
        let mut only = HashMap::with_capacity(entries.len());
        for entry in entries {
            only.entry(identity(entry))
                .and_modify(|one| *one = None)
                .or_insert(Some(*entry));
        }
        only
    }
    let (gone, come) = (counted(&removed), counted(&created));
    let partner = |entry: &Entry| {
        let pair = (gone.get(&identity(entry)), come.get(&identity(entry)));
        match pair {
            (Some(Some(old)), Some(Some(new))) => Some((*old, *new)),
            _ => None,
        }
    };
    for entry in removed {
        found.push(match partner(entry) {
            Some((old, new)) => Change::Renamed {
                from: old.path.clone(),
                to: new.path.clone(),
                altered: if same_content(&old.kind, &new.kind) && old.mode == new.mode {
                    Alteration::Unaltered
                } else {
                    Alteration::Altered
                },
            },
            None => Change::Removed {
                path: entry.path.clone(),
            },
        });
    }
    found.extend(
        created
            .into_iter()
            .filter(|entry| partner(entry).is_none())
            .map(|entry| Change::Created {
                path: entry.path.clone(),
            }),
    );
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
