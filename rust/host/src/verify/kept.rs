//! Holds what a run kept against what it said: both snapshot documents against the digests admitted and recorded, the
//! manifest against the snapshots, every kept file against the candidate, the patch against its digest.

use super::Findings;
use coder_digest::{Digest, json};
use coder_journal::{Admission, RunResult};
use coder_workspace::{Kind, MAXIMUM_FILE_BYTES, Manifest, Retention, Snapshot, State, changes, manifest};
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
    if let Some(digest) = candidate.pointer("/patch/digest").and_then(Value::as_str) {
        let kept = digest
            .parse::<Digest>()
            .map_err(|error| error.to_string())
            .and_then(|digest| retention.get(&digest, PATCH_BYTES).map_err(|error| error.to_string()));
        findings.outcome("patch", kept.map(drop));
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
