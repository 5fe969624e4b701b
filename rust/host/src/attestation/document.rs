//! Holds an exported ATIF document against the store it was exported from: rendered again from the trace, and compared
//! as JSON, so that another indentation is no difference.

use super::compare::first_difference;
use super::derive::run_of;
use crate::Error;
use crate::verify::{Findings, Verdict, Verification, verify};
use coder_digest::{TaskId, json};
use coder_journal::Store;
use coder_trace::{Reader, SessionId};
use serde_json::Value;

/// The longest document that is read: a trace of the largest size, rendered.
const DOCUMENT: json::Limit = json::Limit(256 * 1024 * 1024);

/// Verifies the task a document is of, and that the document is the one its trace renders. `task` is the task it must be
/// of, where the caller knows; else its `session_id` says.
///
/// # Errors
/// [`Error::Attestation`] for what is no such document; the journal's for a store that cannot be read at all.
pub fn verify_document(store: &Store, task: Option<&TaskId>, document: &[u8]) -> Result<Verification, Error> {
    let refused = |reason: String| Error::Attestation { reason };
    let carried = json::parse(document, DOCUMENT).map_err(|error| refused(error.to_string()))?;
    let session = carried.get("session_id").and_then(Value::as_str);
    let named = session.and_then(|session| {
        let (task, turn) = session.rsplit_once('-')?;
        Some((TaskId::new(task).ok()?, turn.parse::<usize>().ok()?))
    });
    let (about, turn) = named.ok_or_else(|| refused("its `session_id` names no task and turn".to_owned()))?;
    let verification = verify(store, task.unwrap_or(&about))?;
    let mut findings = Findings::default();
    let holds = verification.verdict != Verdict::Mismatch;
    findings.extend(verification.checks);
    findings.at(Some(turn));
    let of_task = task.is_none_or(|task| *task == about);
    findings.compare("task", of_task, || format!("it is a document of `{about}`"));
    if of_task {
        findings.outcome("document", same(store, &about, turn, &carried));
    }
    let first_mismatch = findings.first_mismatch();
    Ok(Verification {
        verdict: match (&first_mismatch, holds) {
            (None, true) => verification.verdict,
            (_, _) => Verdict::Mismatch,
        },
        first_mismatch,
        checks: findings.into_checks(),
        ..verification
    })
}

fn same(store: &Store, task: &TaskId, turn: usize, carried: &Value) -> Result<(), String> {
    let shown = store.show(task).map_err(|error| error.to_string())?;
    let run = run_of(&shown, turn).ok_or("the store knows no such turn")?;
    let reader = Reader::open(&store.path().join(&run.admission.trace_file)).map_err(|error| error.to_string())?;
    if carried.get("session_id").and_then(Value::as_str) != Some(SessionId::new(task, turn as u64).as_str()) {
        return Err("its `session_id` is not written as this host writes it".to_owned());
    }
    let rendered = coder_trace::atif_document(&reader).map_err(|error| error.to_string())?;
    match first_difference(carried, &rendered, String::new()) {
        None => Ok(()),
        Some(difference) => Err(difference),
    }
}
