//! Every act of this crate that can fail, with the file it failed on. `code()` is stable; the text is for people.

use coder_digest::Timestamp;
use std::io;
use std::path::{Path, PathBuf};

/// What was being done to the log when the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Making the file.
    Create,
    /// Setting disk space aside.
    Reserve,
    /// Writing a line.
    Write,
    /// Making a line durable.
    Sync,
    /// Cutting the file.
    Cut,
    /// Opening the file.
    Open,
    /// Reading it.
    Read,
}

impl Act {
    /// The act as a word of a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Reserve => "reserve space for",
            Self::Write => "write to",
            Self::Sync => "sync",
            Self::Cut => "cut",
            Self::Open => "open",
            Self::Read => "read",
        }
    }
}

/// Why a file is not taken for a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// A symbolic link.
    #[error("it is a symbolic link")]
    SymbolicLink,
    /// A directory, device, socket or pipe.
    #[error("it is not a regular file")]
    NotRegular,
    /// More than one name.
    #[error("it has more than one hard link")]
    HardLinked,
    /// Group or others may touch it.
    #[error("others than its owner may access it")]
    Accessible,
    /// Another user's.
    #[error("it belongs to another user")]
    Foreign,
}

/// A failed act on a log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The new log's name is taken.
    #[error("`{path}` exists already; a log is never begun in an existing file")]
    Exists {
        /// The log.
        path: PathBuf,
    },
    /// No space, or no quota, for a record; nothing of it stays in the file.
    #[error("no space to {} `{path}`; free some on its file system", act.word())]
    DiskFull {
        /// The log.
        path: PathBuf,
        /// What needed the space.
        act: Act,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused an act; nothing of a refused record stays in the file.
    #[error("cannot {} `{path}`", act.word())]
    File {
        /// The log.
        path: PathBuf,
        /// The refused act.
        act: Act,
        /// The system's answer.
        source: io::Error,
    },
    /// A failed record could not be taken back, so the file's end is unknown and nothing more is written.
    #[error("`{path}` ends in a record that failed and could not be taken back; repair it before it is read")]
    Poisoned {
        /// The log.
        path: PathBuf,
    },
    /// A step over [`crate::limits::STEP`].
    #[error("the step takes {bytes} bytes; at most {limit} are allowed")]
    StepTooLarge {
        /// Its size, the record around it reckoned in.
        bytes: u64,
        /// The most allowed.
        limit: u64,
    },
    /// The log would grow over its bound.
    #[error("the log would take {bytes} bytes; at most {limit} are allowed for this record")]
    EvidenceFull {
        /// The size it would have.
        bytes: u64,
        /// The most allowed.
        limit: u64,
    },
    /// A step that no reader would take.
    #[error("the step cannot be recorded: {reason}")]
    BadStep {
        /// What is wrong with it.
        reason: String,
    },
    /// A carried step older than the one before it.
    #[error("the step is of {at}, before the last recorded one of {last}")]
    Backwards {
        /// The step's time.
        at: Timestamp,
        /// The last step's.
        last: Timestamp,
    },
    /// The log has its final disposition or its end; it takes no ordinary record.
    #[error("`{path}` has its final record and takes no more")]
    Finished {
        /// The log.
        path: PathBuf,
    },
    /// An effect's intent or result failed to be retained, and until it is, no other effect is admitted.
    #[error("effect {sequence} is not retained; no other effect is admitted until it is")]
    Unretained {
        /// The effect's number.
        sequence: u64,
    },
    /// An intent retained in another log.
    #[error("effect {sequence} was announced in another log")]
    ForeignIntent {
        /// The effect's number.
        sequence: u64,
    },
    /// There is no such file.
    #[error("`{path}` does not exist")]
    Missing {
        /// The log.
        path: PathBuf,
    },
    /// The file is not private and plain.
    #[error("`{path}` is not a safe log: {hazard}")]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// Why.
        hazard: Hazard,
    },
    /// The file is over [`crate::limits::FILE`].
    #[error("`{path}` has {bytes} bytes; at most {limit} are read")]
    Oversized {
        /// The log.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The most read.
        limit: u64,
    },
    /// The file is not what it was when it was indexed.
    #[error("line {line} of `{path}` is not the one that was indexed; open the log again")]
    Changed {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// No session or no step, so there is no document to render.
    #[error("`{path}` holds no session with a step; there is nothing to export")]
    Empty {
        /// The log.
        path: PathBuf,
    },
    /// The document's own destination failed.
    #[error("cannot write the document")]
    Output {
        /// The destination's answer.
        source: io::Error,
    },
    /// A cursor that is none, or of another task, log or history.
    #[error("the cursor does not fit: {reason}; begin again without one")]
    Cursor {
        /// What does not fit.
        reason: &'static str,
    },
    /// A page size outside 1 to 200.
    #[error("a page has 1 to 200 steps, not {count}")]
    PageSize {
        /// The size asked for.
        count: u64,
    },
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "trace_exists",
            Self::DiskFull { .. } => "disk_full",
            Self::File { .. } | Self::Output { .. } => "trace_io",
            Self::Poisoned { .. } => "trace_poisoned",
            Self::StepTooLarge { .. } => "step_too_large",
            Self::EvidenceFull { .. } => "evidence_full",
            Self::BadStep { .. } | Self::Backwards { .. } => "bad_step",
            Self::Finished { .. } => "trace_finished",
            Self::Unretained { .. } => "effect_unretained",
            Self::ForeignIntent { .. } => "foreign_intent",
            Self::Missing { .. } => "trace_missing",
            Self::Unsafe { .. } => "trace_unsafe",
            Self::Oversized { .. } => "trace_oversized",
            Self::Changed { .. } => "trace_changed",
            Self::Empty { .. } => "trace_empty",
            Self::Cursor { .. } => "command_conflict",
            Self::PageSize { .. } => "bad_page_size",
        }
    }

    /// Whether space is what is missing: the same record may succeed once some is freed.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }

    pub(crate) fn file(path: &Path, act: Act, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path, act, source },
            _ => Self::File { path, act, source },
        }
    }
}
