//! One task as one page: a file that a browser shows without asking anybody for anything. What is wrong with the evidence
//! comes first, then what was asked and what came of it, the change, everything that happened, what was enforced, and what
//! was compared. The same store gives the same bytes. Not a view to prove anything by: it says what `verify` says.

mod boundary;
mod changes;
mod checks;
mod evidence;
mod frame;
mod header;
mod markup;
mod prose;
mod story;

use crate::Error;
use crate::timeline::Timeline;
use crate::verify::{Verification, verify};
use crate::view::{artifact_faults, candidate, expectation, patch};
use coder_digest::TaskId;
use coder_journal::{Run, Store, Task};
use coder_trace::{EvidenceState, Fault, PageSize, Reader, examine};
use coder_workspace::Manifest;
use markup::Markup;

/// Everything the page is made of.
struct Gathered {
    task: Task,
    /// The status, told apart where the owner is gone.
    state: String,
    evidence: Evidence,
    timeline: Timeline,
    manifest: Option<Manifest>,
    /// What is wrong with the candidate's kept files.
    candidate_faults: Vec<String>,
    /// The kept patch, where there is one.
    patch: Option<Vec<u8>>,
    verification: Result<Verification, String>,
}

/// What the trace says of itself.
struct Evidence {
    state: EvidenceState,
    trace_file: Option<String>,
    digest: Option<coder_digest::Digest>,
    faults: Vec<Fault>,
    fault_count: u64,
    steps: u64,
    /// Why it cannot be read.
    error: Option<String>,
}

impl Gathered {
    fn run(&self) -> Option<&Run> {
        self.task.run.as_deref()
    }

    /// What the admission says of the run.
    fn admission(&self) -> Option<&serde_json::Value> {
        self.timeline.entries.iter().find_map(|entry| match &entry.event {
            crate::timeline::Event::Admitted(admission) if !entry.carried => Some(admission),
            _ => None,
        })
    }
}

/// The page of `task`, whole.
///
/// # Errors
/// The journal's. What is wrong with the trace, the candidate or the comparisons stands on the page.
pub fn page(store: &Store, task: &TaskId) -> Result<String, Error> {
    let gathered = gather(store, task)?;
    let mut markup = Markup::default();
    frame::page(&mut markup, &gathered);
    Ok(markup.finish())
}

fn gather(store: &Store, id: &TaskId) -> Result<Gathered, Error> {
    let task = store.show(id)?;
    let (evidence, timeline) = read_trace(store, &task);
    let (manifest, mut candidate_faults) = match candidate(store, &task) {
        Ok(manifest) => {
            let faults = artifact_faults(store, &manifest);
            (Some(manifest), faults)
        }
        Err(Error::Absent { .. }) => (None, Vec::new()),
        Err(error) => (None, vec![error.message()]),
    };
    let patch = match patch(store, id) {
        Ok(patch) => Some(patch),
        // Without a disposition there is no patch to speak of; why there is none is said with the trace.
        Err(Error::Absent { .. } | Error::Trace(_)) => None,
        Err(error) => {
            candidate_faults.push(error.message());
            None
        }
    };
    Ok(Gathered {
        state: crate::verify::state(store, &task)?,
        evidence,
        timeline,
        manifest,
        candidate_faults,
        patch,
        verification: verify(store, id).map_err(|error| error.message()),
        task,
    })
}

fn read_trace(store: &Store, task: &Task) -> (Evidence, Timeline) {
    let run = task.run.as_deref();
    let file = run.map(|run| run.admission.trace_file.clone());
    let path = file.as_ref().map(|file| store.path().join(file));
    let examined = examine(path.as_deref(), run.map(expectation).unwrap_or_default());
    let mut evidence = Evidence {
        state: examined.state,
        trace_file: file,
        digest: None,
        faults: Vec::new(),
        fault_count: 0,
        steps: 0,
        error: None,
    };
    let mut fold = crate::timeline::Fold::default();
    match examined.reader {
        None => {}
        Some(Err(error)) => evidence.error = Some(Error::from(error).message()),
        Some(Ok(reader)) => {
            let index = reader.index();
            evidence.digest = Some(index.digest());
            evidence.faults = index.faults();
            evidence.fault_count = index.fault_count();
            evidence.steps = index.steps();
            if let Err(error) = read_steps(&reader, &mut fold) {
                evidence.error = Some(Error::from(error).message());
            }
        }
    }
    (evidence, fold.finish())
}

fn read_steps(reader: &Reader, fold: &mut crate::timeline::Fold) -> Result<(), coder_trace::Error> {
    // One at a time: a page of them may be as large as the whole trace.
    let one = PageSize::new(1)?;
    for number in 1..=reader.index().steps() {
        for recorded in reader.page(number, one)? {
            fold.take(number, recorded);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
