//! Holds what a run kept against what it said: both snapshot documents against the digests admitted and recorded, the
//! manifest against the snapshots, every kept file against the candidate, the patch against its digest.

use super::Findings;
use coder_digest::{BytePath, Digest, json};
use coder_journal::{Admission, RunResult};
use coder_workspace::{Change, Kind, MAXIMUM_FILE_BYTES, Manifest, Retention, Snapshot, State, changes, manifest};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// A snapshot document of 200,000 entries stays below this.
const DOCUMENT_BYTES: u64 = 512 * 1024 * 1024;
const PATCH_BYTES: u64 = 16 * 1024 * 1024;

pub(super) fn verify(
    store: &Path,
    admission: &Admission,
    result: &RunResult,
    candidate: &Value,
    findings: &mut Findings,
) {
    let retention = match Retention::open(store) {
        Ok(retention) => retention,
        Err(error) => return findings.outcome("source_snapshot", Err(error.to_string())),
    };
    let named = |name: &str| {
        candidate
            .get(name)
            .and_then(Value::as_str)
            .and_then(|text| text.parse::<Digest>().ok())
    };
    let source = snapshot(&retention, named("source_document"), Some(admission.source_snapshot));
    let after = snapshot(&retention, named("candidate_document"), result.candidate_snapshot);
    // What the run itself says it could not keep is incomplete evidence, and no contradiction.
    let said_incomplete = candidate
        .get("faults")
        .and_then(Value::as_array)
        .is_some_and(|faults| !faults.is_empty());
    if said_incomplete && (source.is_err() || after.is_err()) {
        return findings.absent("candidate", "the run could not keep its candidate");
    }
    findings.outcome("source_snapshot", source.as_ref().map(drop).map_err(Clone::clone));
    findings.outcome("candidate_snapshot", after.as_ref().map(drop).map_err(Clone::clone));
    let (Ok(source), Ok(after)) = (source, after) else {
        return;
    };
    match (result.artifact_digest, named("manifest")) {
        (Some(digest), Some(traced)) if digest == traced => {
            findings.outcome("artifacts", artifacts(&retention, &digest, &source, &after));
        }
        (None, None) if said_incomplete => findings.absent("artifacts", "the run could not keep its artifacts"),
        (Some(_) | None, Some(_) | None) => {
            findings.outcome(
                "artifacts",
                Err("the result and the trace name different manifests".into()),
            );
        }
    }
    if let Some(told) = candidate.get("patch").filter(|patch| !patch.is_null()) {
        findings.outcome("patch", patch(&retention, told));
    }
}

/// The patch is there, as long as it is said to be.
fn patch(retention: &Retention, told: &Value) -> Result<(), String> {
    let digest = told.get("digest").and_then(Value::as_str).ok_or("it has no digest")?;
    let digest = digest.parse::<Digest>().map_err(|error| error.to_string())?;
    let kept = retention.get(&digest, PATCH_BYTES).map_err(|error| error.to_string())?;
    if told.get("bytes").and_then(Value::as_u64) == Some(kept.len() as u64) {
        Ok(())
    } else {
        Err("its length is not the one recorded".to_owned())
    }
}

fn snapshot(retention: &Retention, document: Option<Digest>, expected: Option<Digest>) -> Result<Snapshot, String> {
    let document = document.ok_or("the trace names no snapshot document")?;
    let bytes = retention
        .get(&document, DOCUMENT_BYTES)
        .map_err(|error| error.to_string())?;
    let snapshot: Snapshot = json::parse_as(&bytes, json::Limit(bytes.len())).map_err(|error| error.to_string())?;
    if Some(snapshot.digest()) == expected {
        Ok(snapshot)
    } else {
        Err(format!(
            "the kept snapshot has digest {}, which is not the one recorded",
            snapshot.digest().hex()
        ))
    }
}

/// Every listed change has its entries and no other has one, and `complete` is said only where nothing is left out.
fn listed_whole(manifest: &Manifest) -> Result<(), String> {
    let mut expected: Vec<&BytePath> = Vec::new();
    for change in &manifest.changes {
        match change {
            Change::Created { path }
            | Change::Removed { path }
            | Change::Modified { path, .. }
            | Change::Retyped { path } => expected.push(path),
            Change::Renamed { from, to, .. } => expected.extend([from, to]),
        }
    }
    let mut found: Vec<&BytePath> = manifest.entries.iter().map(|entry| &entry.path).collect();
    expected.sort_unstable();
    found.sort_unstable();
    if expected != found {
        return Err("the manifest's entries are not those of its changes".to_owned());
    }
    let lost = |state: State| matches!(state, State::Unavailable | State::UnavailableOrOverLimit);
    let whole = manifest.omitted_changes == 0 && !manifest.entries.iter().any(|entry| lost(entry.state));
    if manifest.complete == whole {
        Ok(())
    } else {
        Err("the manifest's `complete` does not follow from its entries".to_owned())
    }
}

fn artifacts(retention: &Retention, digest: &Digest, source: &Snapshot, after: &Snapshot) -> Result<(), String> {
    let manifest: Manifest = manifest(retention, digest).map_err(|error| error.to_string())?;
    if manifest.source_snapshot != source.digest() || manifest.candidate_snapshot != after.digest() {
        return Err("the manifest is of other snapshots".to_owned());
    }
    let found = changes(source, after).map_err(|error| error.to_string())?;
    let listed = manifest.changes.len() as u64 + manifest.omitted_changes;
    if found.len() as u64 != listed || !manifest.changes.iter().all(|change| found.contains(change)) {
        return Err("the manifest's changes are not those between the snapshots".to_owned());
    }
    listed_whole(&manifest)?;
    let files: HashMap<_, _> = after.entries().iter().map(|entry| (&entry.path, &entry.kind)).collect();
    for entry in manifest.entries.iter().filter(|entry| entry.state == State::Retained) {
        let kept = entry
            .digest
            .ok_or_else(|| format!("`{}` is kept without a digest", entry.path))?;
        match files.get(&entry.path) {
            Some(Kind::File { digest, .. }) if *digest == kept => {}
            Some(_) | None => return Err(format!("`{}` is not the candidate's", entry.path)),
        }
        retention
            .get(&kept, MAXIMUM_FILE_BYTES)
            .map_err(|error| format!("`{}`: {error}", entry.path))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
