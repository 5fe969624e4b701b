//! Holds a statement that somebody carries against a store: its signature, what it says twice, and every subject and
//! every field of the predicate derived again. Without a store only the first two, and the answer says so.

use super::derive::{derive, run_of};
use super::statement::{PAYLOAD_TYPE, Statement, Subject};
use crate::Error;
use crate::verify::{AttestationState, Compared, Finding, Findings, SignatureState, Verdict, Verification, verify};
use coder_digest::TaskId;
use coder_journal::Store;
use coder_signing::{Envelope, VerifyingKey};
use serde_json::Value;
use std::collections::BTreeMap;

/// Verifies an attestation: a statement, or a DSSE envelope around one. `task` is the task it must be of, where the
/// caller knows; `key` the key that must have signed it, where the caller trusts one.
///
/// # Errors
/// [`Error::Attestation`] or a signature's own for what cannot be read as either; the journal's for a store that cannot be
/// read at all. Every finding about the statement is in the verification.
pub fn verify_attestation(
    store: Option<&Store>,
    task: Option<&TaskId>,
    attestation: &[u8],
    key: Option<&VerifyingKey>,
) -> Result<Verification, Error> {
    let carried = Carried::read(attestation, key)?;
    let statement = Statement::parse(&carried.payload)?;
    let mut findings = Findings::default();
    if let Some(outcome) = carried.signature {
        findings.outcome("signature", outcome);
    }
    let about = &statement.predicate.task;
    if let Some(task) = task {
        findings.compare("task", *task == about.id, || {
            format!("it is a statement about `{}`", about.id)
        });
    }
    findings.outcome("statement", statement.contradiction());
    let (mut state, mut complete) = ("not_compared".to_owned(), true);
    if let Some(store) = store {
        let verification = verify(store, &about.id)?;
        state = verification.state;
        let lacking = |turn| turn == about.turn;
        complete = !verification
            .checks
            .iter()
            .any(|check| check.finding == Finding::Absent && check.turn.is_none_or(lacking));
        // A store that contradicts itself vouches for nothing; what the statement says is compared all the same.
        findings.extend(verification.checks);
        compare(store, &statement, &mut findings)?;
    }
    let first_mismatch = findings.first_mismatch();
    let verdict = match (&first_mismatch, store) {
        (Some(_), _) => Verdict::Mismatch,
        (None, None) => Verdict::Consistent,
        (None, Some(_)) if complete => Verdict::Verified,
        (None, Some(_)) => Verdict::Incomplete,
    };
    Ok(Verification {
        task_id: about.id.clone(),
        verdict,
        state,
        first_mismatch,
        journal_head: store.map(Store::head).transpose()?.flatten(),
        attestation: Some(AttestationState {
            turn: about.turn,
            compared_with: store.map_or(Compared::Nothing, |_| Compared::Store),
            signature: carried.state,
            key_id: key.map(|key| key.key_id().as_str().to_owned()),
        }),
        checks: findings.into_checks(),
    })
}

/// What was carried here, and what its signature is worth.
struct Carried {
    payload: Vec<u8>,
    state: SignatureState,
    signature: Option<Result<(), String>>,
}

impl Carried {
    fn read(bytes: &[u8], key: Option<&VerifyingKey>) -> Result<Self, Error> {
        if is_statement(bytes) {
            return Ok(Self {
                payload: bytes.to_vec(),
                state: SignatureState::Absent,
                signature: key.map(|_| Err("a key was given, and nothing is signed".to_owned())),
            });
        }
        let envelope = Envelope::parse(bytes)?;
        if envelope.payload_type() != PAYLOAD_TYPE {
            return Err(Error::Attestation {
                reason: format!(
                    "the envelope carries `{}`, not `{PAYLOAD_TYPE}`",
                    envelope.payload_type()
                ),
            });
        }
        let signature = key.map(|key| envelope.verify(key).map_err(|error| error.to_string()));
        let state = match &signature {
            None => SignatureState::NotChecked,
            Some(Ok(())) => SignatureState::Valid,
            Some(Err(_)) => SignatureState::Invalid,
        };
        Ok(Self {
            payload: envelope.payload().to_vec(),
            state,
            signature,
        })
    }
}

/// Whether the bytes are rather a bare statement than an envelope; whichever it is, it is then read strictly.
fn is_statement(bytes: &[u8]) -> bool {
    let value: Result<Value, _> = serde_json::from_slice(bytes);
    value.is_ok_and(|value| value.get("_type").is_some())
}

fn compare(store: &Store, statement: &Statement, findings: &mut Findings) -> Result<(), Error> {
    let about = &statement.predicate.task;
    let task = store.show(&about.id)?;
    findings.at(Some(about.turn));
    if run_of(&task, about.turn).is_none() {
        findings.outcome("subjects", Err("the store knows no such turn".to_owned()));
        return Ok(());
    }
    let derived = match derive(store, &task, about.turn) {
        Ok(derived) => derived,
        Err(error) => {
            findings.outcome("subjects", Err(format!("they cannot be derived: {}", error.message())));
            return Ok(());
        }
    };
    findings.outcome("subjects", subjects(&statement.subject, &derived.subject));
    let predicate = |statement: &Statement| serde_json::to_value(&statement.predicate).unwrap_or_default();
    findings.outcome(
        "predicate",
        match first_difference(&predicate(statement), &predicate(&derived), String::new()) {
            None => Ok(()),
            Some(found) => Err(found),
        },
    );
    Ok(())
}

/// The first subject that is not the store's, by name.
fn subjects(carried: &[Subject], derived: &[Subject]) -> Result<(), String> {
    let by_name = |subjects: &[Subject]| -> BTreeMap<String, BTreeMap<String, String>> {
        let pair = |subject: &Subject| (subject.name.clone(), subject.digest.clone());
        subjects.iter().map(pair).collect()
    };
    let (carried, derived) = (by_name(carried), by_name(derived));
    for (name, digest) in &carried {
        match derived.get(name) {
            Some(expected) if expected == digest => {}
            Some(_) => return Err(format!("the digest of `{name}` is not the store's")),
            None => return Err(format!("the store has no `{name}`")),
        }
    }
    match derived.keys().find(|name| !carried.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(format!("`{name}` is left out")),
    }
}

/// Where two values first differ, as a JSON pointer, and how.
pub(super) fn first_difference(carried: &Value, derived: &Value, place: String) -> Option<String> {
    if carried == derived {
        return None;
    }
    let deeper = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
    match (carried, derived) {
        (Value::Object(carried), Value::Object(derived)) => {
            let keys = carried.keys().chain(derived.keys());
            let null = &Value::Null;
            let mut keys = keys.map(|key| match (carried.get(key), derived.get(key)) {
                (Some(_), None) => Some(format!("`{}` is not there in the store", deeper(key))),
                (None, _) => Some(format!("`{}` is left out", deeper(key))),
                (left, right) => first_difference(left.unwrap_or(null), right.unwrap_or(null), deeper(key)),
            });
            keys.find_map(|found| found)
        }
        (Value::Array(carried), Value::Array(derived)) if carried.len() == derived.len() => carried
            .iter()
            .zip(derived)
            .enumerate()
            .find_map(|(index, (left, right))| first_difference(left, right, deeper(&index.to_string()))),
        (_, _) => Some(format!(
            "`{place}` is {}, and the store says {}",
            shown(carried),
            shown(derived)
        )),
    }
}

/// A value short enough for a line.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(120) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
