//! The one error of this crate: each variant one failed act, with the path or the name it failed on.
//! Messages name fields, identifiers and paths, never the texts of a command, which may be private.

use coder_digest::{Identifier, TaskId, TextError, json};
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// SQLite's "could not grow the shared memory file", which on Linux means that the disk is full.
const SHARED_MEMORY_SIZE: i32 = 10 | (19 << 8);

/// Why the store refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an act on a file of the store.
    #[error("could not {act} {}", path.display())]
    Io {
        /// What was tried, as in "open".
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// SQLite failed for another reason than those below.
    #[error("could not {act} in {}", path.display())]
    Database {
        /// What was tried.
        act: &'static str,
        /// The database file.
        path: PathBuf,
        /// SQLite's answer.
        source: rusqlite::Error,
    },
    /// No space is left. This one step was not made; steps of the same run that came before it stand.
    #[error("no space left on the disk of {}: this step was not recorded, what was recorded before it stands; free some space and repeat", path.display())]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The command is not strict JSON of the command's shape.
    #[error(transparent)]
    MalformedCommand(#[from] json::Error),
    /// A text of the command is outside its grammar.
    #[error(transparent)]
    CommandText(#[from] TextError),
    /// A field of the command breaks a rule.
    #[error("the command is refused: `{field}` {rule}")]
    CommandField {
        /// The field.
        field: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// The command's schema is not one this program reads.
    #[error("the command's `schema` is not `{expected}`: use the version of the program that wrote it")]
    CommandSchema {
        /// The schema read here.
        expected: &'static str,
    },
    /// A newer program wrote the store.
    #[error("{} was made by a newer version (store format {found}, and this version reads {supported}): use that version", path.display())]
    NewerStore {
        /// The database file.
        path: PathBuf,
        /// Its format version.
        found: i64,
        /// The newest format read here.
        supported: i64,
    },
    /// A version before the first release wrote the store.
    #[error("{} was made by an older version (store format {found}, and this version reads {supported}): read it with that version, and use another store for new tasks", path.display())]
    OlderStore {
        /// The database file.
        path: PathBuf,
        /// Its format version.
        found: i64,
        /// The format read here.
        supported: i64,
    },
    /// A record was accepted under transition rules this program does not have.
    #[error(
        "task {task} was last written by a newer version (record {sequence} follows rules version {found}): use that version"
    )]
    NewerRules {
        /// The task.
        task: TaskId,
        /// The record.
        sequence: u64,
        /// Its rules version.
        found: u32,
    },
    /// The command id was used for other bytes.
    #[error("command {command} was accepted before with other bytes: use a new command id")]
    CommandConflict {
        /// The id.
        command: Identifier,
    },
    /// The task moved on.
    #[error("task {task} is at revision {current}, not {expected}: look at it again and repeat")]
    RevisionMismatch {
        /// The task.
        task: TaskId,
        /// The revision the caller had seen.
        expected: u64,
        /// The revision now.
        current: u64,
    },
    /// No such task.
    #[error("there is no task {task} in this store")]
    NotFound {
        /// The task.
        task: TaskId,
    },
    /// The task's state does not allow the transition.
    #[error("task {task} does not take this step: {rule}")]
    InvalidTransition {
        /// The task.
        task: TaskId,
        /// The rule it breaks.
        rule: &'static str,
    },
    /// A bound is reached; nothing is ever pruned to make room.
    #[error("the limit of {limit} {what} is reached{remedy}")]
    LimitExceeded {
        /// What is counted.
        what: &'static str,
        /// How many are allowed.
        limit: u64,
        /// What makes room, if anything does.
        remedy: &'static str,
    },
    /// The store is damaged.
    #[error("the store is damaged at {}: {reason}", path.display())]
    CorruptStore {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A path that is not private enough to trust.
    #[error("{} is not safe for a private store: {reason}", path.display())]
    UnsafePath {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Somebody else held what was needed for longer than the wait.
    #[error("{} stayed in use by another process: repeat later", path.display())]
    StoreBusy {
        /// What was held.
        path: PathBuf,
    },
    /// Another task reserves an overlapping tree.
    #[error("task {holder} still reserves {}, which overlaps the tree of task {task}", tree.display())]
    WorkspaceBusy {
        /// The task refused.
        task: TaskId,
        /// The task that holds the tree.
        holder: TaskId,
        /// The tree it holds.
        tree: PathBuf,
    },
    /// A write failed in a way that leaves open whether it landed.
    #[error("an earlier write to {} failed and may have landed or not: open the store again, then repeat the exact command", path.display())]
    ReopenRequired {
        /// The database file.
        path: PathBuf,
    },
    /// The store lies where nothing can be written, and its newest records are not in its database file yet.
    #[error("{} cannot be read where nothing can be written, because records still lie in {}: copy the whole store to a writable place and look there", path.display(), log.display())]
    ReadOnlyPlace {
        /// The database file.
        path: PathBuf,
        /// The file the records lie in.
        log: PathBuf,
    },
    /// The store lies where nothing can be written.
    #[error("the store {} can only be looked at: nothing can be written there", path.display())]
    Unwritable {
        /// The store.
        path: PathBuf,
    },
    /// The store was opened for reading.
    #[error("{} was opened read-only", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
}

impl Error {
    /// The stable code of the refusal (facts 1.8); `disk_full` and `read_only` are ours.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::Database { .. } => "io",
            Self::DiskFull { .. } => "disk_full",
            Self::MalformedCommand(_) | Self::CommandText(_) | Self::CommandField { .. } => "invalid_command",
            Self::CommandSchema { .. }
            | Self::NewerStore { .. }
            | Self::OlderStore { .. }
            | Self::NewerRules { .. } => "unsupported_schema",
            Self::CommandConflict { .. } => "command_conflict",
            Self::RevisionMismatch { .. } => "revision_mismatch",
            Self::NotFound { .. } => "not_found",
            Self::InvalidTransition { .. } => "invalid_transition",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::CorruptStore { .. } => "corrupt_store",
            Self::UnsafePath { .. } => "unsafe_path",
            Self::StoreBusy { .. } => "store_busy",
            Self::WorkspaceBusy { .. } => "workspace_busy",
            Self::ReopenRequired { .. } => "reopen_required",
            Self::ReadOnly { .. } | Self::ReadOnlyPlace { .. } | Self::Unwritable { .. } => "read_only",
        }
    }

    pub(crate) fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Io { act, path, source },
        }
    }

    pub(crate) fn database(act: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let Some(inner) = source.sqlite_error() else {
            return Self::Database { act, path, source };
        };
        match inner.code {
            ErrorCode::DiskFull => Self::DiskFull { path },
            ErrorCode::SystemIoFailure if inner.extended_code == SHARED_MEMORY_SIZE => Self::DiskFull { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
                Self::StoreBusy { path }
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::CorruptStore {
                path,
                reason: source.to_string(),
            },
            _ => Self::Database { act, path, source },
        }
    }

    /// Whether SQLite gave up on a commit at a place where its record may have been whole already: the index in shared
    /// memory is written after the log, and what the log holds the next recovery finds.
    pub(crate) fn is_doubtful(commit: &rusqlite::Error) -> bool {
        commit.sqlite_error().is_none_or(|inner| {
            !matches!(
                inner.code,
                ErrorCode::DiskFull
                    | ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::FileLockingProtocolFailed
            )
        })
    }

    pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::CorruptStore {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn transition(task: &TaskId, rule: &'static str) -> Self {
        Self::InvalidTransition {
            task: task.clone(),
            rule,
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
