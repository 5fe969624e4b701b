//! Where the next page of a view begins (facts 9.6), bound to the task, its intent, the log and every step delivered so
//! far. Steps appended later leave it valid; anything else that changed makes it a conflict and never a wrong page.

use crate::error::Error;
use crate::limits;
use crate::reader::Reader;
use coder_digest::{Digest, Hasher, TaskId, json};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::str::FromStr;

/// The written form's label.
pub const CURSOR_SCHEMA: &str = "openagents.coder.task-view-cursor.v1";

/// What a view is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// The digest of the task's intent.
    pub intent: Digest,
    /// The log's name within the store.
    pub trace_file: &'a str,
}

/// A place in a view. Closed: a written cursor with another field is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    schema: String,
    task_id: TaskId,
    intent_digest: Digest,
    trace_file: String,
    next_step: u64,
    prefix_digest: Digest,
}

impl Cursor {
    /// The place before step `next_step` (from 1) of the log; at most one past its last.
    pub(crate) fn at(subject: Subject<'_>, reader: &Reader, next_step: u64) -> Self {
        Self {
            schema: CURSOR_SCHEMA.to_owned(),
            task_id: subject.task.clone(),
            intent_digest: subject.intent,
            trace_file: subject.trace_file.to_owned(),
            next_step,
            prefix_digest: prefix_digest(subject, reader, next_step),
        }
    }

    /// The first step of the page it leads to, from 1.
    pub fn next_step(&self) -> u64 {
        self.next_step
    }

    /// Checks that the cursor was given for this subject and for the steps this log begins with.
    ///
    /// # Errors
    /// [`Error::Cursor`] (`command_conflict`) naming the first thing that does not fit.
    pub(crate) fn check(&self, subject: Subject<'_>, reader: &Reader) -> Result<(), Error> {
        self.check_subject(subject)?;
        if self.next_step == 0 || self.next_step > reader.index().steps() + 1 {
            return conflict("the log has no such step");
        }
        if self.prefix_digest != prefix_digest(subject, reader, self.next_step) {
            return conflict("the steps before it have changed");
        }
        Ok(())
    }

    /// The part of [`Cursor::check`] that needs no log.
    pub(crate) fn check_subject(&self, subject: Subject<'_>) -> Result<(), Error> {
        if self.schema != CURSOR_SCHEMA {
            return conflict("its schema is not known");
        }
        if self.task_id != *subject.task {
            return conflict("it is of another task");
        }
        if self.intent_digest != subject.intent {
            return conflict("the task's intent has changed");
        }
        if self.trace_file != subject.trace_file {
            return conflict("it is of another log");
        }
        Ok(())
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = json::canonical_of(self).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    /// Reads the written form, of at most [`limits::CURSOR`] characters.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.chars().count() > limits::CURSOR {
            return conflict("it is longer than 4096 characters");
        }
        json::parse_as(text.as_bytes(), json::Limit::COMMAND).or_else(|_| conflict("it is not a cursor"))
    }
}

fn conflict<T>(reason: &'static str) -> Result<T, Error> {
    Err(Error::Cursor { reason })
}

/// The steps enter by the digests of their lines: the steps' own bytes, without reading them again for every page.
fn prefix_digest(subject: Subject<'_>, reader: &Reader, next_step: u64) -> Digest {
    let mut steps = Hasher::new();
    for entry in reader.entries(1, next_step.saturating_sub(1)) {
        steps.update(entry.digest.as_bytes());
    }
    json::digest(&json!({
        "task": subject.task,
        "intent": subject.intent,
        "trace": subject.trace_file,
        "steps": steps.finish(),
    }))
}
