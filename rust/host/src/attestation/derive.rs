//! Derives the statement of one turn from the store: from the journal's records, the sealed trace and the manifest.
//! Nothing of it depends on the clock, on the machine or on records that came after the turn.

use super::statement::{
    BoundaryPart, CANDIDATE, ChecksPart, Controller, JournalPart, PREDICATE_TYPE, Predicate, SNAPSHOT, STATEMENT_TYPE,
    SourcePart, Statement, Subject, TaskPart,
};
use crate::Error;
use crate::verify::{Effects, read_effects};
use coder_digest::{BytePath, Digest, is_unsafe_to_show, json};
use coder_journal::{Content, Event, Run, Store, Task};
use coder_trace::Reader;
use coder_workspace::{Manifest, Retention, State, manifest};
use serde_json::Value;

/// The run of turn `turn`, from 1.
pub(super) fn run_of(task: &Task, turn: usize) -> Option<&Run> {
    let mut runs = task.earlier.iter().chain(task.run.as_deref());
    turn.checked_sub(1).and_then(|index| runs.nth(index))
}

/// The statement of `turn`.
///
/// # Errors
/// [`Error::Absent`] where the turn has no result, or one without a sealed trace.
pub(super) fn derive(store: &Store, task: &Task, turn: usize) -> Result<Statement, Error> {
    let absent = |what| Error::Absent {
        task: task.task_id.clone(),
        what,
    };
    let run = run_of(task, turn).ok_or_else(|| absent("run to attest"))?;
    let result = run.result.as_ref().ok_or_else(|| absent("result to attest"))?;
    let trace_digest = result.trace_digest.ok_or_else(|| absent("sealed trace to attest"))?;
    let admission = &run.admission;
    let reader = Reader::open(&store.path().join(&admission.trace_file))?;
    let effects = read_effects(&reader).map_err(|reason| Error::Attestation { reason })?;
    let index = reader.index();
    let predicate = Predicate {
        task: TaskPart {
            id: task.task_id.clone(),
            turn,
        },
        intent_digest: task.intent_digest,
        grant_digest: admission.grant_digest,
        source: SourcePart {
            snapshot: admission.source_snapshot,
            revision: admission.source_revision.clone(),
        },
        program_digest: admission.program_digest,
        context_digest: (admission.context.get("digest").and_then(Value::as_str)).and_then(|text| text.parse().ok()),
        trace_digest,
        controller: controller(&effects),
        boundary: boundary(&effects),
        started: index.opening().map(|opening| opening.at),
        ended: index.ended(),
        result: result.clone(),
        checks: checks(run)?,
        journal: last_record(store, task, turn)?.ok_or_else(|| absent("record of its result"))?,
    };
    Ok(Statement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: subjects(store, run, &effects, &trace_digest)?,
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate,
    })
}

fn subjects(store: &Store, run: &Run, effects: &Effects, trace: &Digest) -> Result<Vec<Subject>, Error> {
    let mut subjects = Vec::new();
    let Some(result) = &run.result else { return Ok(subjects) };
    if let Some(snapshot) = &result.candidate_snapshot {
        subjects.push(Subject::with(CANDIDATE, SNAPSHOT, snapshot));
    }
    let kept = |pointer: &str| {
        let named = effects.candidate.as_ref()?.pointer(pointer)?;
        named.as_str()?.parse::<Digest>().ok()
    };
    let documents = [
        ("source.snapshot.json", "/source_document"),
        ("candidate.snapshot.json", "/candidate_document"),
        ("candidate.patch", "/patch/digest"),
    ];
    let documents = documents.map(|(name, pointer)| kept(pointer).map(|digest| Subject::of_bytes(name, &digest)));
    subjects.extend(documents.into_iter().flatten());
    subjects.push(Subject::of_bytes(run.admission.trace_file.clone(), trace));
    if let (Some(file), Some(digest)) = (&result.artifact_file, &result.artifact_digest) {
        subjects.push(Subject::of_bytes(file.clone(), digest));
        let manifest = manifest(&Retention::open(store.path())?, digest)?;
        subjects.extend(artifacts(&manifest));
    }
    Ok(subjects)
}

fn artifacts(manifest: &Manifest) -> impl Iterator<Item = Subject> {
    let kept = manifest.entries.iter().filter(|entry| entry.state == State::Retained);
    kept.filter_map(|entry| Some(Subject::of_bytes(name(&entry.path), entry.digest.as_ref()?)))
}

/// A kept file's name: below `candidate/`, with `%` and whatever is no text or steers a terminal percent-encoded, so that
/// two paths never have one name.
fn name(path: &BytePath) -> String {
    let mut name = format!("{CANDIDATE}/");
    let encode = |bytes: &[u8], name: &mut String| {
        for byte in bytes {
            name.push_str(&format!("%{byte:02X}"));
        }
    };
    for chunk in path.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || is_unsafe_to_show(character) {
                encode(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut name);
            } else {
                name.push(character);
            }
        }
        encode(chunk.invalid(), &mut name);
    }
    name
}

fn controller(effects: &Effects) -> Controller {
    let field = |name: &str| effects.controller.as_ref()?.get(name)?.as_str().map(str::to_owned);
    Controller {
        path: field("path"),
        digest: field("digest").and_then(|text| text.parse().ok()),
        version: field("version"),
    }
}

fn boundary(effects: &Effects) -> BoundaryPart {
    let admitted = |name: &str| {
        let admission = effects.admission.as_ref();
        admission
            .and_then(|admission| admission.get(name))
            .cloned()
            .unwrap_or(Value::Null)
    };
    let mut commands = 0;
    let mut enforced: Vec<Value> = Vec::new();
    for report in effects.enforced() {
        commands += 1;
        if !enforced.contains(report) {
            enforced.push(report.clone());
        }
    }
    BoundaryPart {
        access: admitted("access"),
        planned: admitted("enforcing"),
        commands,
        enforced,
    }
}

fn checks(run: &Run) -> Result<Option<ChecksPart>, Error> {
    let Some(report) = &run.report else { return Ok(None) };
    let text = json::canonical_of(report).map_err(|error| Error::Attestation {
        reason: error.to_string(),
    })?;
    Ok(Some(ChecksPart {
        verdict: report.verdict,
        requirements_digest: report.requirements_digest,
        report_digest: Digest::of(text.as_bytes()),
    }))
}

/// The last of the turn's own events: its result, or the report of its checks.
fn last_record(store: &Store, task: &Task, turn: usize) -> Result<Option<JournalPart>, Error> {
    let mut at = 0;
    let mut last = None;
    for record in store.history(&task.task_id)? {
        let Content::Event { event, .. } = &record.content else {
            continue;
        };
        // Each turn begins with its admission.
        at += usize::from(matches!(event, Event::Admitted { .. }));
        let closes = matches!(
            event,
            Event::Result { .. } | Event::Checked { .. } | Event::CheckOwnerLost {}
        );
        if at == turn && closes {
            last = Some(JournalPart {
                sequence: record.sequence,
                digest: record.digest,
            });
        }
    }
    Ok(last)
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
