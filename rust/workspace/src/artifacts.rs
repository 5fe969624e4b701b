//! The candidate's changed files, kept by digest under one manifest (facts 9.8), so that they outlive the worktree.
//! Only bytes equal to the completed snapshot are kept, and the tree must still match it afterwards. What could not be
//! kept is listed with its reason, and makes the manifest incomplete. Nothing here applies a change anywhere.

use crate::batch::Batch;
use crate::changes::{Aspect, Change, changes};
use crate::read::{Confined, Observation, ReadCap};
use crate::retain::{Retention, manifest_name, read_verified, replace_file};
use crate::snapshot::{Kind, Snapshot, by_component};
use crate::{Error, Observer};
use coder_digest::{BytePath, Digest, json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The manifest's schema.
pub const MANIFEST_SCHEMA: &str = "openagents.coder.task-artifacts.v1";

/// The most changes one manifest lists.
pub const MAXIMUM_CHANGES: usize = 4096;
/// The most bytes kept of one file: 1 MiB. A larger file is not kept at all, since part of one is no artifact.
pub const MAXIMUM_FILE_BYTES: u64 = 1024 * 1024;
/// The most bytes kept for one manifest: 8 MiB.
pub const MAXIMUM_TOTAL_BYTES: u64 = 8 * 1024 * 1024;

/// 8,192 entries of the longest path each, twice over, and then some.
const MAXIMUM_MANIFEST_BYTES: u64 = 128 * 1024 * 1024;

/// What changed and what of it was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Always [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// The snapshot the run began with.
    #[serde(with = "coder_digest::bare")]
    pub source_snapshot: Digest,
    /// The snapshot it ended with.
    #[serde(with = "coder_digest::bare")]
    pub candidate_snapshot: Digest,
    /// Whether every change is listed and every changed file kept.
    pub complete: bool,
    /// How many changes are not listed.
    pub omitted_changes: u64,
    /// The changes, sorted.
    pub changes: Vec<Change>,
    /// What became of each changed path, sorted; a rename has two.
    pub entries: Vec<Artifact>,
}

/// What became of one changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Relative to the workspace.
    pub path: BytePath,
    /// Whether it was kept.
    pub state: State,
    /// The digest of a regular file's content, kept or not.
    pub digest: Option<Digest>,
    /// The length of a regular file.
    pub bytes: Option<u64>,
    /// The target of a symbolic link.
    pub link_target: Option<BytePath>,
    /// Why it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a changed path was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The bytes are kept under the digest.
    Retained,
    /// There is nothing to keep any more.
    Removed,
    /// The target says it all.
    Symlink,
    /// A directory, whose content has entries of its own.
    Directory,
    /// Not a file that can be kept safely.
    Unavailable,
    /// A file beyond a limit, or unreadable.
    UnavailableOrOverLimit,
}

/// A written manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedArtifacts {
    /// What it says.
    pub manifest: Manifest,
    /// The digest of its exact bytes.
    pub digest: Digest,
    /// Its name in the store.
    pub file_name: String,
}

/// The paths the repository ignores; a directory stands for all below it.
#[derive(Debug, Clone, Default)]
pub struct IgnoredPaths(BTreeSet<Vec<u8>>);

impl IgnoredPaths {
    /// Whether `path` is ignored, or lies below what is.
    pub fn contains(&self, path: &BytePath) -> bool {
        let bytes = path.as_bytes();
        let ends = (bytes.iter().enumerate()).filter_map(|(index, byte)| (*byte == b'/').then_some(index));
        ends.chain([bytes.len()])
            .filter_map(|end| bytes.get(..end))
            // Looked up as it lies there: an agent may nest thousands deep, and copies of every beginning took minutes.
            .any(|prefix| self.0.contains(prefix))
    }
}

impl FromIterator<BytePath> for IgnoredPaths {
    /// From relative paths; a directory may be written with a final `/`.
    fn from_iter<I: IntoIterator<Item = BytePath>>(paths: I) -> Self {
        let bare = |path: BytePath| match path.as_bytes().strip_suffix(b"/") {
            Some(stripped) => stripped.to_vec(),
            None => path.as_bytes().to_vec(),
        };
        Self(paths.into_iter().map(bare).collect())
    }
}

/// Keeps what changed from `before` to `after` and writes the manifest of it.
///
/// When there are more changes than a manifest lists, or more bytes than it keeps, paths the repository does not
/// ignore come first, and among them those with new content: otherwise one `node_modules` would push out the fix.
///
/// # Errors
/// Those of [`changes`]; [`Error::WorkspaceChanged`] when a file, or the tree afterwards, is not what `after`
/// recorded; [`Error::Write`] when something cannot be kept.
pub fn retain(
    store: &Retention,
    before: &Snapshot,
    after: &Snapshot,
    ignored: &IgnoredPaths,
    observer: &Observer<'_>,
) -> Result<RetainedArtifacts, Error> {
    let mut found = changes(before, after)?;
    // Stable, so each class stays in path order.
    found.sort_by_key(|change| rank(change, ignored));
    let omitted = found.len().saturating_sub(MAXIMUM_CHANGES);
    found.truncate(MAXIMUM_CHANGES);
    let mut copy = Copy {
        batch: Batch::new(store),
        after,
        workspace: Confined::open(after.root().as_path())?,
        left: MAXIMUM_TOTAL_BYTES,
    };
    let mut entries = Vec::with_capacity(found.len());
    for change in &found {
        match change {
            Change::Removed { path } => entries.push(removed(path)),
            Change::Created { path } | Change::Modified { path, .. } | Change::Retyped { path } => {
                entries.push(copy.path(path)?);
            }
            Change::Renamed { from, to, .. } => {
                entries.push(removed(from));
                entries.push(copy.path(to)?);
            }
        }
    }
    if observer.observe(after.root().as_path())? != *after {
        return Err(Error::WorkspaceChanged {
            path: after.root().clone(),
        });
    }
    // Before the manifest, which must never name bytes that a crash could take.
    copy.batch.commit()?;
    found.sort_by(|one, other| by_component(one.path().as_bytes(), other.path().as_bytes()));
    entries.sort_by(|one, other| by_component(one.path.as_bytes(), other.path.as_bytes()));
    let kept = |entry: &Artifact| !matches!(entry.state, State::Unavailable | State::UnavailableOrOverLimit);
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        source_snapshot: before.digest(),
        candidate_snapshot: after.digest(),
        complete: omitted == 0 && entries.iter().all(kept),
        omitted_changes: omitted as u64,
        changes: found,
        entries,
    };
    let bytes = json::canonical_of(&manifest).map_err(|source| Error::Manifest { source })?;
    let digest = Digest::of(bytes.as_bytes());
    replace_file(&store.manifest(&digest), bytes.as_bytes())?;
    Ok(RetainedArtifacts {
        manifest,
        digest,
        file_name: manifest_name(&digest),
    })
}

/// The manifest with this digest, as it was written.
///
/// # Errors
/// [`Error::Read`] and [`Error::Damaged`] of its file, [`Error::Manifest`] when it is not of this schema.
pub fn manifest(store: &Retention, digest: &Digest) -> Result<Manifest, Error> {
    let bytes = read_verified(&store.manifest(digest), digest, MAXIMUM_MANIFEST_BYTES)?;
    let manifest: Manifest =
        json::parse_as(&bytes, json::Limit(bytes.len())).map_err(|source| Error::Manifest { source })?;
    if manifest.schema == MANIFEST_SCHEMA {
        Ok(manifest)
    } else {
        Err(Error::ManifestSchema)
    }
}

impl Manifest {
    /// The kept bytes of `path`. Only paths this manifest lists as retained can be had, whatever else the store holds.
    ///
    /// # Errors
    /// [`Error::NotRetained`] for any other path; [`Error::Read`] and [`Error::Damaged`] of the kept bytes.
    pub fn artifact(&self, store: &Retention, path: &BytePath) -> Result<Vec<u8>, Error> {
        let entry = self.entries.iter().find(|entry| entry.path == *path);
        match entry.map(|entry| (entry.state, &entry.digest)) {
            Some((State::Retained, Some(digest))) => store.get(digest, MAXIMUM_FILE_BYTES),
            _ => Err(Error::NotRetained {
                path: path.clone(),
                reason: entry
                    .and_then(|entry| entry.reason.clone())
                    .unwrap_or_else(|| "it is not listed as retained".to_owned()),
            }),
        }
    }
}

/// What to keep first when not all can be kept.
fn rank(change: &Change, ignored: &IgnoredPaths) -> u8 {
    let shown = |path: &BytePath| u8::from(ignored.contains(path)) * 2;
    match change {
        Change::Modified {
            path,
            aspect: Aspect::Rewritten,
        } => shown(path) + 1,
        Change::Created { path }
        | Change::Removed { path }
        | Change::Modified { path, .. }
        | Change::Retyped { path } => shown(path),
        Change::Renamed { from, to, .. } => shown(from).min(shown(to)),
    }
}

fn removed(path: &BytePath) -> Artifact {
    Artifact {
        path: path.clone(),
        state: State::Removed,
        digest: None,
        bytes: None,
        link_target: None,
        reason: None,
    }
}

struct Copy<'a> {
    batch: Batch<'a>,
    after: &'a Snapshot,
    workspace: Confined,
    left: u64,
}

impl Copy<'_> {
    fn path(&mut self, path: &BytePath) -> Result<Artifact, Error> {
        let Some(entry) = self.after.entry(path.as_bytes()) else {
            return Err(Error::WorkspaceChanged { path: path.clone() });
        };
        let plain = |state| Artifact { state, ..removed(path) };
        Ok(match &entry.kind {
            Kind::Directory => plain(State::Directory),
            Kind::Symlink { target } => Artifact {
                link_target: Some(target.clone()),
                ..plain(State::Symlink)
            },
            Kind::Other { word } => Artifact {
                reason: Some(format!("a {word} has no content to keep")),
                ..plain(State::Unavailable)
            },
            Kind::File { length, digest, .. } => {
                let (state, reason) = self.file(path, *length, digest)?;
                Artifact {
                    digest: Some(*digest),
                    bytes: Some(*length),
                    reason,
                    ..plain(state)
                }
            }
        })
    }

    fn file(&mut self, path: &BytePath, length: u64, digest: &Digest) -> Result<(State, Option<String>), Error> {
        let over = |reason: String| Ok((State::UnavailableOrOverLimit, Some(reason)));
        if length > MAXIMUM_FILE_BYTES {
            return over(format!(
                "{length} bytes; at most {MAXIMUM_FILE_BYTES} of one file are kept"
            ));
        }
        if length > self.left {
            return over(format!("the {MAXIMUM_TOTAL_BYTES} bytes kept for one run are used up"));
        }
        match self.workspace.read(path.as_path(), ReadCap::MAXIMUM) {
            Observation::Found { bytes, total, .. } if total == length && Digest::of(&bytes) == *digest => {
                self.batch.put(&bytes)?;
                self.left -= length;
                Ok((State::Retained, None))
            }
            Observation::Found { .. } | Observation::Absent => Err(Error::WorkspaceChanged { path: path.clone() }),
            Observation::Refused(refusal) => Ok((State::Unavailable, Some(refusal.to_string()))),
            Observation::ReadError { reason, .. } => over(reason),
        }
    }
}

#[cfg(test)]
#[path = "artifacts_tests.rs"]
mod tests;
