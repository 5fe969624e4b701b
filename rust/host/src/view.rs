//! What may be looked at of a task, by any process at any time: a page of its evidence, one kept file, the trace as a
//! document. Takes no lock that keeps a writer out and changes nothing but the index kept of a large trace. How it is
//! shown to a person is in `view`'s parts and in `page`.

mod list;
mod show;
mod story;

pub use list::list_table;
pub use show::task_sheet;
pub(crate) use show::{result_cost, verdict_word};
pub(crate) use story::{evidence_words, token_words};

use crate::Error;
use coder_digest::{BytePath, Timestamp};
use coder_journal::{CostStatus, Run, Store, Task};
use coder_trace::{
    Cursor, EvidencePage, Expectation, KeptIndexes, PageSize, Reader, Retention as Retained, Step, Subject, VIEW_SCHEMA,
};
use coder_workspace::{MAXIMUM_FILE_BYTES, Manifest, Retention, State, manifest};
use serde::Serialize;

/// The store's folder of kept indexes.
const INDEXES: &str = "index";

/// `openagents.coder.task-view.v1` (facts 9.6).
#[derive(Debug, Serialize)]
pub struct View {
    schema: &'static str,
    /// The task.
    pub task: Task,
    /// A page of its current turn's evidence.
    pub evidence: EvidencePage,
    /// The manifest of the candidate, once there is one.
    pub artifacts: Option<Manifest>,
    /// Why there is none although the result names one.
    pub artifact_error: Option<String>,
    /// What of the candidate is not kept, or no longer as it was kept, each with its path.
    pub artifact_faults: Vec<String>,
    /// How the independent checks stand.
    pub verification: &'static str,
    /// Whether the candidate was integrated: this host never does.
    pub integration: &'static str,
    /// The cost in dollars, if it is known.
    pub cost_usd: Option<f64>,
    /// What is known of the cost.
    pub cost_status: CostStatus,
}

pub(crate) fn expectation(run: &Run) -> Expectation {
    match &run.result {
        Some(result) => Expectation {
            digest: result.trace_digest,
            retention: if result.output_incomplete {
                Retained::Incomplete
            } else {
                Retained::Complete
            },
        },
        None => Expectation::default(),
    }
}

/// One page of a task. `now` is what tells a trace that has settled from one just written.
///
/// # Errors
/// The journal's; `command_conflict` for a cursor of another view.
pub fn view(
    store: &Store,
    task: &coder_digest::TaskId,
    cursor: Option<&Cursor>,
    size: PageSize,
    now: Timestamp,
) -> Result<View, Error> {
    let task = store.show(task)?;
    let evidence = match &task.run {
        None => coder_trace::not_started(),
        Some(run) => {
            let file = &run.admission.trace_file;
            let subject = Subject {
                task: &task.task_id,
                intent: task.intent_digest,
                trace_file: file,
            };
            let kept = KeptIndexes::new(store.path().join(INDEXES), now);
            let path = store.path().join(file);
            coder_trace::view_page(subject, &path, cursor, size, expectation(run), Some(&kept))?
        }
    };
    let (artifacts, artifact_error) = match candidate(store, &task) {
        Ok(manifest) => (Some(manifest), None),
        Err(Error::Absent { .. }) => (None, None),
        Err(error) => (None, Some(error.message())),
    };
    let result = task.run.as_ref().and_then(|run| run.result.as_ref());
    Ok(View {
        schema: VIEW_SCHEMA,
        evidence,
        artifact_faults: artifacts
            .as_ref()
            .map(|manifest| artifact_faults(store, manifest))
            .unwrap_or_default(),
        artifacts,
        artifact_error,
        verification: task.checks.as_str(),
        integration: "not_attempted",
        cost_usd: result
            .and_then(|result| result.cost_microusd)
            .map(|micro| micro as f64 / 1e6),
        cost_status: result.map_or(CostStatus::Unknown, |result| result.cost_status),
        task,
    })
}

/// What is wrong with the kept files: those that were not kept, with the reason, and those whose bytes are no longer the
/// ones that were. Every kept byte is compared; there are at most 8 MiB.
pub(crate) fn artifact_faults(store: &Store, manifest: &Manifest) -> Vec<String> {
    let retention = Retention::open(store.path());
    let fault = |entry: &coder_workspace::Artifact| -> Option<String> {
        let reason = match (entry.state, &entry.digest, &retention) {
            (State::Retained, Some(digest), Ok(retention)) => {
                Error::from(retention.get(digest, MAXIMUM_FILE_BYTES).err()?).message()
            }
            (State::Retained, _, _) => "it cannot be looked for".to_owned(),
            _ => entry.reason.clone()?,
        };
        Some(format!("`{}`: {reason}", entry.path))
    };
    manifest.entries.iter().filter_map(fault).collect()
}

/// The manifest of the task's candidate.
///
/// # Errors
/// [`Error::Absent`] before there is one; the workspace's own when it is damaged.
pub fn candidate(store: &Store, task: &Task) -> Result<Manifest, Error> {
    let digest = task
        .run
        .as_ref()
        .and_then(|run| run.result.as_ref())
        .and_then(|result| result.artifact_digest);
    let digest = digest.ok_or_else(|| absent(task, "kept candidate"))?;
    Ok(manifest(&Retention::open(store.path())?, &digest)?)
}

/// The exact bytes of one kept file.
///
/// # Errors
/// [`Error::Absent`] without a candidate; the workspace's own for a path that was not kept, or damaged bytes.
pub fn artifact(store: &Store, task: &coder_digest::TaskId, path: &BytePath) -> Result<Vec<u8>, Error> {
    let task = store.show(task)?;
    let manifest = candidate(store, &task)?;
    Ok(manifest.artifact(&Retention::open(store.path())?, path)?)
}

/// The kept patch of the candidate against the commit the run began with.
///
/// # Errors
/// [`Error::Absent`] without one; the workspace's own for damaged bytes.
pub fn patch(store: &Store, task: &coder_digest::TaskId) -> Result<Vec<u8>, Error> {
    let task = store.show(task)?;
    let kept = kept_patch(&disposition(store, &task)?).ok_or_else(|| absent(&task, "kept patch"))?;
    Ok(Retention::open(store.path())?.get(&kept.digest, 16 * 1024 * 1024)?)
}

/// Writes the task's trace as an ATIF document.
///
/// # Errors
/// [`Error::Absent`] before the task was run; the trace's own.
pub fn export_atif(store: &Store, task: &coder_digest::TaskId, output: impl std::io::Write) -> Result<(), Error> {
    let task = store.show(task)?;
    let reader = open_trace(store, &task)?;
    Ok(coder_trace::write_atif_document(&reader, output)?)
}

/// What a run's last step says for a person.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The host's sentence on how it ended.
    pub(crate) summary: Option<String>,
    /// What the model said to the user last.
    pub(crate) reply: Option<String>,
    /// The kept patch.
    pub(crate) patch: Option<KeptPatch>,
}

/// What is said of a kept patch.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct KeptPatch {
    /// Its digest.
    pub digest: coder_digest::Digest,
    /// Its length.
    pub bytes: u64,
    /// Whether it is all there.
    pub whole: bool,
    /// Changed paths that are not in it.
    pub left_out: Vec<BytePath>,
}

impl KeptPatch {
    /// Whether applying it gives all that changed.
    pub fn is_everything(&self) -> bool {
        self.whole && self.bytes > 0 && self.left_out.is_empty()
    }
}

/// What the disposition says; nothing where there is none to read.
pub(crate) fn said(store: &Store, task: &Task) -> Said {
    let Ok(disposition) = disposition(store, task) else {
        return Said::default();
    };
    let summary = disposition.extensions.get("adapter_summary");
    let text = |pointer: &str| Some(summary?.pointer(pointer)?.as_str()?.to_owned());
    Said {
        summary: text("/summary"),
        reply: text("/outcome/reply"),
        patch: kept_patch(&disposition),
    }
}

fn kept_patch(disposition: &Step) -> Option<KeptPatch> {
    let patch = disposition.extensions.get("candidate")?.get("patch")?;
    serde_json::from_value(patch.clone()).ok()
}

/// The last step of a run's trace: what the host says of it as a whole.
fn disposition(store: &Store, task: &Task) -> Result<Step, Error> {
    let reader = open_trace(store, task)?;
    let last = reader.page(reader.index().steps(), PageSize::default())?.pop();
    last.map(|recorded| recorded.step)
        .ok_or_else(|| absent(task, "disposition"))
}

fn open_trace(store: &Store, task: &Task) -> Result<Reader, Error> {
    let run = task.run.as_ref().ok_or_else(|| absent(task, "trace"))?;
    Ok(Reader::open(&store.path().join(&run.admission.trace_file))?)
}

fn absent(task: &Task, what: &'static str) -> Error {
    Error::Absent {
        task: task.task_id.clone(),
        what,
    }
}
