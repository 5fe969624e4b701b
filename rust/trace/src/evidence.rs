//! How far a log can be believed, in the words of facts 9.6. The word is a value for the reader of a view, not an error:
//! a log that is missing or damaged is itself an answer.

use crate::error::{Act, Error};
use crate::kept_index::KeptIndexes;
use crate::reader::Reader;
use coder_digest::Digest;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The state of a run's evidence, worst to best as listed: the first that applies is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceState {
    /// No log was ever named.
    NotStarted,
    /// A log was named and is not there.
    Missing,
    /// It cannot be opened, or is no private plain file.
    UnavailableOrUnsafe,
    /// It was opened and cannot be read.
    Unreadable,
    /// It is larger than what is read.
    Oversized,
    /// It has no session record: it is no log at all.
    Malformed,
    /// It is not the file whose digest is expected.
    DigestMismatch,
    /// Some line has a fault.
    Damaged,
    /// Its lines are sound, but the run says that not everything was retained.
    Incomplete,
    /// Its lines are sound, but it has no end or no digest vouches for it.
    Unsealed,
    /// It is whole, ended, and has the expected digest.
    Sealed,
}

/// What the run itself says of its retained output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    /// All of it was retained, or nobody said otherwise.
    #[default]
    Complete,
    /// Something was not.
    Incomplete,
}

/// What is known of a log from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expectation {
    /// The digest the run's result names.
    pub digest: Option<Digest>,
    /// What the run's result says of its evidence.
    pub retention: Retention,
}

/// What became of opening a log.
#[derive(Debug)]
pub struct Examined {
    /// How far it can be believed.
    pub state: EvidenceState,
    /// The log, where one was named, or why it cannot be read.
    pub reader: Option<Result<Reader, Error>>,
}

/// Opens the log, if one is named, and says how far it can be believed.
pub fn examine(path: Option<&Path>, expectation: Expectation) -> Examined {
    judged(path.map(Reader::open), expectation)
}

/// As [`examine`], through a kept index where it fits: for looking, not for proving.
pub fn examine_kept(path: Option<&Path>, expectation: Expectation, kept: &KeptIndexes) -> Examined {
    judged(path.map(|path| Reader::open_kept(path, kept)), expectation)
}

fn judged(reader: Option<Result<Reader, Error>>, expectation: Expectation) -> Examined {
    let state = match &reader {
        None => EvidenceState::NotStarted,
        Some(Ok(reader)) => evidence_state(reader, expectation),
        Some(Err(Error::Missing { .. })) => EvidenceState::Missing,
        Some(Err(Error::Oversized { .. })) => EvidenceState::Oversized,
        Some(Err(Error::File { act: Act::Read, .. } | Error::Changed { .. })) => EvidenceState::Unreadable,
        Some(Err(_)) => EvidenceState::UnavailableOrUnsafe,
    };
    Examined { state, reader }
}

/// How far the log that `reader` has indexed can be believed.
pub fn evidence_state(reader: &Reader, expectation: Expectation) -> EvidenceState {
    let index = reader.index();
    if index.opening().is_none() {
        EvidenceState::Malformed
    } else if expectation.digest.is_some_and(|digest| digest != index.digest()) {
        EvidenceState::DigestMismatch
    } else if index.fault_count() > 0 {
        EvidenceState::Damaged
    } else if expectation.retention == Retention::Incomplete {
        EvidenceState::Incomplete
    } else if index.ended().is_some() && expectation.digest.is_some() {
        EvidenceState::Sealed
    } else {
        EvidenceState::Unsealed
    }
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
