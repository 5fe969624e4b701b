//! The evidence part of `openagents.coder.task-view.v1` (facts 9.6): the log's state and one page of rendered steps.
//! Works on any log at any time, taking no lock; what cannot be read is said in `state`.

use crate::cursor::{Cursor, Subject};
use crate::error::Error;
use crate::evidence::{EvidenceState, Examined, Expectation, examine, examine_kept};
use crate::fault::Fault;
use crate::kept_index::KeptIndexes;
use crate::reader::PageSize;
use crate::render::render_step;
use crate::step::RecordedStep;
use coder_digest::Digest;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// The view's label.
pub const VIEW_SCHEMA: &str = "openagents.coder.task-view.v1";

/// One page of a run's evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidencePage {
    /// How far the log can be believed.
    pub state: EvidenceState,
    /// The log's name within the store.
    pub trace_file: Option<String>,
    /// The digest of its bytes now.
    pub digest: Option<Digest>,
    /// Whether that is the digest the run's result names; absent without a result or a log.
    pub matches_result: Option<bool>,
    /// What is wrong with which line; at most [`crate::limits::FAULTS`] and the torn tail.
    pub faults: Vec<Fault>,
    /// How many more faults there are; written only where there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults_omitted: u64,
    /// How many steps can be read.
    pub total_steps: u64,
    /// Where to go on: present while steps are left or the log may still grow.
    pub next: Option<Cursor>,
    /// Whether steps are left now.
    pub more_available: bool,
    /// The steps, written as in the rendered document.
    pub steps: Vec<PageStep>,
}

/// One step of a page. Written, it has the rendered document's form; that is made as it is written, since a page may be
/// mebibytes.
#[derive(Debug, Clone, PartialEq)]
pub struct PageStep {
    /// Its number in the log, from 1.
    pub number: u64,
    /// The step as recorded.
    pub recorded: RecordedStep,
    /// The name its call gets in the rendered document, where the recorded one is taken.
    call_name: Option<Box<str>>,
}

impl PageStep {
    /// Step `number` of a log, the first of its calls' name.
    pub fn new(number: u64, recorded: RecordedStep) -> Self {
        Self {
            number,
            recorded,
            call_name: None,
        }
    }

    /// The step as in the rendered document.
    pub fn rendered(&self) -> Value {
        render_step(self.number, &self.recorded, self.call_name.as_deref())
    }
}

impl Serialize for PageStep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.rendered().serialize(serializer)
    }
}

/// The page of the log `path` that `cursor` leads to, or the first; through a kept index where there is one that fits.
///
/// # Errors
/// [`Error::Cursor`] (`command_conflict`) where the cursor is not of this subject or this log's steps;
/// [`Error::Changed`] and [`Error::File`] where the log fails between index and page.
pub fn view_page(
    subject: Subject<'_>,
    path: &Path,
    cursor: Option<&Cursor>,
    size: PageSize,
    expectation: Expectation,
    kept: Option<&KeptIndexes>,
) -> Result<EvidencePage, Error> {
    if let Some(kept) = kept {
        let examined = examine_kept(Some(path), expectation, kept);
        match page(subject, examined, cursor, size, expectation) {
            // The bytes themselves contradict the index, whatever the file's times say: they are right.
            Err(Error::Changed { .. }) => {}
            answer => return answer,
        }
    }
    page(subject, examine(Some(path), expectation), cursor, size, expectation)
}

fn page(
    subject: Subject<'_>,
    examined: Examined,
    cursor: Option<&Cursor>,
    size: PageSize,
    expectation: Expectation,
) -> Result<EvidencePage, Error> {
    let (state, reader) = (examined.state, examined.reader.and_then(Result::ok));
    if let Some(cursor) = cursor {
        match &reader {
            Some(reader) => cursor.check(subject, reader)?,
            None => cursor.check_subject(subject)?,
        }
    }
    let Some(reader) = reader else {
        return Ok(EvidencePage {
            state,
            trace_file: Some(subject.trace_file.to_owned()),
            ..not_started()
        });
    };
    let first = cursor.map_or(1, Cursor::next_step);
    let entries = reader.entries(first, size.get());
    let recorded = reader.steps(entries)?;
    let steps: Vec<PageStep> = (first..)
        .zip(entries.iter().zip(recorded))
        .map(|(number, (entry, recorded))| PageStep {
            number,
            recorded,
            call_name: entry.call_name.clone(),
        })
        .collect();
    let index = reader.index();
    let next_step = first + steps.len() as u64;
    let more_available = next_step <= index.steps();
    let may_grow = index.ended().is_none();
    let faults = index.faults();
    Ok(EvidencePage {
        state,
        trace_file: Some(subject.trace_file.to_owned()),
        digest: Some(index.digest()),
        matches_result: expectation.digest.map(|digest| digest == index.digest()),
        faults_omitted: index.fault_count() - faults.len() as u64,
        faults,
        total_steps: index.steps(),
        next: (more_available || may_grow).then(|| Cursor::at(subject, &reader, next_step)),
        more_available,
        steps,
    })
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The page of a task that has no log.
pub fn not_started() -> EvidencePage {
    EvidencePage {
        state: EvidenceState::NotStarted,
        trace_file: None,
        digest: None,
        matches_result: None,
        faults: Vec::new(),
        faults_omitted: 0,
        total_steps: 0,
        next: None,
        more_available: false,
        steps: Vec::new(),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
