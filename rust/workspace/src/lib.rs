//! A workspace: which repository it is, what it holds, what changed in it, and what of that is kept.
//!
//! - [`Git`] is our own, safe way to call Git on a repository nobody vouches for; [`Repository::identify`] says which
//!   checkout a path is the top of, and refuses one that is not.
//! - [`Worktrees`] makes and removes the linked worktree of a run, [`candidate_patch`] shows the result as a diff.
//! - [`Quarantine`] is a private copy of what Git changes in a linked worktree, and takes over what is sound of it.
//! - [`Observer`] takes a [`Snapshot`] of a whole tree without asking Git, [`changes`] compares two of them, [`retain`]
//!   keeps what changed in a [`Retention`] under a [`Manifest`].
//! - [`Confined`] reads single files that cannot lie outside the workspace.
//!
//! Nothing here follows a symbolic link of the workspace, runs anything the repository configures, or writes into the
//! user's tree. Whoever writes in a workspace while it is looked at is noticed, not fenced off: fencing is the
//! boundary's.
//!
//! ```
//! use coder_digest::SystemClock;
//! use coder_workspace::{Change, Observer, changes};
//!
//! let workspace = tempfile::tempdir()?;
//! let observer = Observer::new(&SystemClock);
//! let before = observer.observe(workspace.path())?;
//! std::fs::write(workspace.path().join("notes"), "text")?;
//! let after = observer.observe(workspace.path())?;
//! assert_eq!(changes(&before, &after)?, [Change::Created { path: "notes".into() }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifacts;
mod batch;
mod branch;
mod cache;
mod changes;
mod descriptor;
mod error;
mod git;
mod identity;
mod patch;
mod quarantine;
mod read;
mod remove;
mod retain;
mod snapshot;
mod status;
mod walk;
mod worktree;

#[cfg(test)]
mod fixture;

pub use artifacts::{
    Artifact, IgnoredPaths, MANIFEST_SCHEMA, MAXIMUM_CHANGES, MAXIMUM_FILE_BYTES, MAXIMUM_TOTAL_BYTES, Manifest,
    RetainedArtifacts, State, manifest, retain,
};
pub use branch::BranchName;
pub use cache::DigestCache;
pub use changes::{Alteration, Aspect, Change, changes};
pub use descriptor::FileTime;
pub use error::Error;
pub use git::Git;
pub use identity::{
    CheckoutKind, CommitId, Head, IndexLock, ObjectFormat, PartialClone, ReferenceFormat, Repository, Sparse,
};
pub use patch::{Candidate, Extent, Patch, candidate_patch};
pub use quarantine::{
    Exported, FoundNote, HeadLeft, IndexLeft, Left, LinkedPlace, Moved, Note, Published, Quarantine, Reopened,
    Restored, Selection, borrowed_stores,
};
pub use read::{Confined, Observation, ReadCap, Refusal};
pub use retain::Retention;
pub use snapshot::{Entry, Fault, FileId, Kind, Limits, MAXIMUM_FAULTS, Snapshot};
pub use status::Uncommitted;
pub use walk::Observer;
pub use worktree::{BranchFate, Recorded, Remains, Worktree, WorktreeRecord, Worktrees};
