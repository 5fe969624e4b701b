//! Re-derives everything about a task offline, from the store alone: the journal's chain and replay, the grant's and the
//! intent's digests, the trace's chain and seal, each effect's pairing, each request's exact bytes, both snapshots, the
//! manifest and every kept file. Names the first mismatch. It trusts no digest it can compute, and runs nothing.

mod admitted;
mod checks;
mod effects;
mod kept;
mod recorded;

pub(crate) use effects::{Effects, read as read_effects};

use crate::Error;
use coder_digest::{Digest, TaskId};
use coder_journal::{Fault as JournalFault, Head, Liveness, OWNER_PROCESS_ENDED, Run, Status, Store, Task};
use coder_trace::{EvidenceState, Expectation, Fault, FaultKind, Reader, Retention as Retained, examine};
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

/// What all the comparisons say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The run has a result and everything is as it must be.
    Verified,
    /// The run has a result and nothing contradicts itself, but the run could not keep part of its evidence, and says so.
    Incomplete,
    /// Nothing contradicts itself, but there is no final result: never run, still running, or its owner is gone.
    Unfinished,
    /// Something is not what it must be.
    Mismatch,
    /// An attestation that agrees with itself; no store was there to compare it with.
    Consistent,
}

/// What one comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// As it must be.
    Holds,
    /// Not yet there, which an unfinished run may say.
    Absent,
    /// Not as it must be.
    Fails,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The turn, from 1; absent for what belongs to the whole task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// What is compared, in snake_case.
    pub name: &'static str,
    /// What was found.
    pub finding: Finding,
    /// What exactly, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What an attestation's signature is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// It is not signed.
    Absent,
    /// It is signed, and no key was given to check that with.
    NotChecked,
    /// The given key signed it.
    Valid,
    /// The given key did not.
    Invalid,
}

/// What an attestation was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// Itself alone.
    Nothing,
    /// The records and kept bytes of a store.
    Store,
}

/// What is known of the attestation that was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttestationState {
    /// The turn it is of, from 1.
    pub turn: usize,
    /// What it was compared with.
    pub compared_with: Compared,
    /// Its signature.
    pub signature: SignatureState,
    /// The key the caller gave, by its name.
    pub key_id: Option<String>,
}

/// The whole verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The task.
    pub task_id: TaskId,
    /// The verdict.
    pub verdict: Verdict,
    /// The task's state in one word: its status, `owner_gone` where a run has neither result nor owner, or `not_compared`
    /// without a store.
    pub state: String,
    /// The first failing comparison, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<String>,
    /// The attestation, where one was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestation: Option<AttestationState>,
    /// The end of the journal's ledger now: kept elsewhere, it shows later whether any record up to here was taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_head: Option<Head>,
    /// Every comparison, in the order made.
    pub checks: Vec<Check>,
}

/// Verifies one task.
///
/// # Errors
/// Only what keeps the store from being read at all; every finding about the task is in the verification.
pub fn verify(store: &Store, task: &TaskId) -> Result<Verification, Error> {
    verify_noting(store, task, None)
}

/// As [`verify`], and the journal must still hold what it held when `noted` was its end.
///
/// # Errors
/// As [`verify`].
pub fn verify_since(store: &Store, task: &TaskId, noted: &Head) -> Result<Verification, Error> {
    verify_noting(store, task, Some(noted))
}

fn verify_noting(store: &Store, task: &TaskId, noted: Option<&Head>) -> Result<Verification, Error> {
    let faults = store.verify(task)?;
    // Written by a newer version: nothing is known to be wrong with it.
    JournalFault::refuse_newer(task, &faults)?;
    let mut findings = Findings::default();
    findings.compare("journal", faults.is_empty(), || {
        serde_json::to_string(&faults).unwrap_or_default()
    });
    if let Some(noted) = noted {
        findings.compare("noted_head", store.holds(noted)?, || {
            format!(
                "the journal no longer has the record at position {} that was noted",
                noted.position
            )
        });
    }
    let task = store.show(task)?;
    findings.compare("intent_digest", task.intent.digest() == task.intent_digest, || {
        "the intent is not the one digested".into()
    });
    let runs = task.earlier.iter().chain(task.run.as_deref());
    for (index, run) in runs.enumerate() {
        findings.at(Some(index + 1));
        verify_run(store, &task, index + 1, run, &mut findings);
        if let Some(report) = &run.report {
            checks::verify(store.path(), report, &mut findings);
        }
    }
    let result = task.run.as_ref().is_some_and(|run| run.result.is_some());
    let state = state(store, &task)?;
    let first_mismatch = findings.first_mismatch();
    let verdict = match first_mismatch {
        Some(_) => Verdict::Mismatch,
        None if result && task.status == Status::Finished => match findings.lacking() {
            None => Verdict::Verified,
            Some(_) => Verdict::Incomplete,
        },
        None => Verdict::Unfinished,
    };
    Ok(Verification {
        first_mismatch,
        attestation: None,
        journal_head: store.head()?,
        task_id: task.task_id,
        verdict,
        state,
        checks: findings.checks,
    })
}

fn describe(check: &Check) -> String {
    let turn = check.turn.map_or(String::new(), |turn| format!(" of turn {turn}"));
    let detail = check
        .detail
        .as_ref()
        .map_or(String::new(), |detail| format!(": {detail}"));
    format!("{}{turn} does not hold{detail}", check.name)
}

/// The task's status, told apart where its owner is gone without a result.
pub(crate) fn state(store: &Store, task: &Task) -> Result<String, Error> {
    let open = task.run.as_ref().is_some_and(|run| run.result.is_none())
        && matches!(task.status, Status::Running | Status::CancelRequested);
    if open && store.liveness(&task.task_id)? == Liveness::Free {
        return Ok("owner_gone".to_owned());
    }
    Ok(task.status.as_str().to_owned())
}

/// The comparisons made so far.
#[derive(Default)]
pub(crate) struct Findings {
    turn: Option<usize>,
    checks: Vec<Check>,
}

impl Findings {
    /// The turn of the comparisons from now on.
    pub(crate) fn at(&mut self, turn: Option<usize>) {
        self.turn = turn;
    }

    /// Takes over comparisons that were made elsewhere.
    pub(crate) fn extend(&mut self, checks: Vec<Check>) {
        self.checks.extend(checks);
    }

    /// The first comparison that fails, in words.
    pub(crate) fn first_mismatch(&self) -> Option<String> {
        let failed = self.checks.iter().find(|check| check.finding == Finding::Fails);
        failed.map(describe)
    }

    pub(crate) fn into_checks(self) -> Vec<Check> {
        self.checks
    }

    pub(crate) fn compare(&mut self, name: &'static str, holds: bool, detail: impl FnOnce() -> String) {
        let (finding, detail) = if holds {
            (Finding::Holds, None)
        } else {
            (Finding::Fails, Some(detail()))
        };
        self.checks.push(Check {
            turn: self.turn,
            name,
            finding,
            detail,
        });
    }

    /// What an ended run does not have although it should.
    fn lacking(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.finding == Finding::Absent)
    }

    pub(crate) fn outcome(&mut self, name: &'static str, outcome: Result<(), String>) {
        let holds = outcome.is_ok();
        self.compare(name, holds, || outcome.err().unwrap_or_default());
    }

    fn absent(&mut self, name: &'static str, detail: impl Into<String>) {
        self.checks.push(Check {
            turn: self.turn,
            name,
            finding: Finding::Absent,
            detail: Some(detail.into()),
        });
    }
}

fn verify_run(store: &Store, task: &Task, turn: usize, run: &Run, findings: &mut Findings) {
    let admission = &run.admission;
    findings.compare(
        "grant_digest",
        Digest::of(admission.grant_request.as_bytes()) == admission.grant_digest,
        || "the grant's text is not the one digested".into(),
    );
    let result = run.result.as_ref();
    let expectation = Expectation {
        digest: result.and_then(|result| result.trace_digest),
        retention: match result {
            Some(result) if result.output_incomplete => Retained::Incomplete,
            Some(_) | None => Retained::Complete,
        },
    };
    if result.is_some_and(|result| result.output_incomplete) {
        findings.absent("evidence", "the run says that it could not retain all of it");
    }
    let path = store.path().join(&admission.trace_file);
    let examined = examine(Some(&path), expectation);
    let reader = examined.reader.and_then(Result::ok);
    // A run that recovery closed has a result, and a trace that its owner did not end.
    let ended = result.is_some_and(|result| result.ending != OWNER_PROCESS_ENDED);
    trace_state(
        examined.state,
        reader.as_ref(),
        ended,
        result.is_some_and(|result| result.trace_digest.is_some()),
        findings,
    );
    let Some(reader) = reader else { return };
    if reader.index().opening().is_none() {
        return;
    }
    let effects = match effects::read(&reader) {
        Ok(effects) => effects,
        Err(reason) => return findings.outcome("effects", Err(reason)),
    };
    findings.outcome(
        "trace_session",
        admitted::session(reader.index().opening(), task, turn, run),
    );
    findings.outcome("trace_admission", admitted::step(&effects.admission, task, run));
    findings.outcome("journal_heads", heads_held(store, &effects.heads));
    findings.outcome(
        "effects",
        effects.paired(result.is_some_and(|result| !result.output_incomplete)),
    );
    findings.outcome("requests", effects.requests_rebuild());
    if let Some(result) = result {
        findings.outcome("result", recorded::result(&effects, result, &admission.adapter));
    }
    match (&effects.candidate, result) {
        // Killed between its trace's last step and its result: recovery takes nothing over from a trace nobody ended.
        (_, Some(_)) if !ended => findings.absent("candidate", "its owner ended before the result was recorded"),
        (Some(candidate), Some(result)) => kept::verify(store.path(), admission, result, candidate, findings),
        (None, Some(result)) if result.candidate_snapshot.is_some() => {
            findings.outcome("candidate", Err("the trace does not name what was kept".into()));
        }
        (_, Some(_)) => findings.absent("candidate", "the run kept none"),
        (_, None) => findings.absent("candidate", "the run has no result yet"),
    }
}

/// What the trace kept of the journal's end must still be there: records taken away with everything in the journal that
/// speaks of them show here.
fn heads_held(store: &Store, heads: &[Value]) -> Result<(), String> {
    for head in heads {
        let noted = Head::deserialize(head).map_err(|_| "the trace keeps an end of the journal that cannot be read")?;
        if !store.holds(&noted).map_err(|error| error.to_string())? {
            return Err(format!(
                "the journal no longer has the record at position {} that the trace names: records were taken away",
                noted.position
            ));
        }
    }
    Ok(())
}

fn trace_state(state: EvidenceState, reader: Option<&Reader>, ended: bool, sealed: bool, findings: &mut Findings) {
    let told = || {
        match reader.and_then(|reader| fault_words(&reader.index().faults())) {
        Some(words) => words,
        None if state == EvidenceState::DigestMismatch => {
            "each line fits the one before, and the whole is not what the result names: the end was changed, or all of it \
             written anew"
                .to_owned()
        }
        None => format!("the trace is {}", word(state)),
    }
    };
    match state {
        EvidenceState::Sealed => findings.compare("trace", true, String::new),
        EvidenceState::Incomplete if sealed => findings.compare("trace", true, String::new),
        EvidenceState::Incomplete | EvidenceState::Unsealed if !sealed => findings.absent("trace", told()),
        // A line the host was writing when it was killed is no contradiction; everything before it is judged as usual.
        EvidenceState::Damaged if !ended && only_torn(reader) => findings.absent("trace", told()),
        EvidenceState::Malformed if !ended => findings.absent("trace", told()),
        EvidenceState::Missing if !ended && !sealed => findings.absent("trace", told()),
        // The trace could not be made, and the result says so by naming no digest; nothing was run then.
        EvidenceState::Missing if !sealed => findings.absent("trace", told()),
        EvidenceState::NotStarted
        | EvidenceState::Missing
        | EvidenceState::UnavailableOrUnsafe
        | EvidenceState::Unreadable
        | EvidenceState::Oversized
        | EvidenceState::Malformed
        | EvidenceState::DigestMismatch
        | EvidenceState::Damaged
        | EvidenceState::Incomplete
        | EvidenceState::Unsealed => findings.compare("trace", false, told),
    }
}

/// The first fault in words, with the line that was changed as far as the chain tells it.
fn fault_words(faults: &[Fault]) -> Option<String> {
    let breaks = |fault: &Fault, line: u64| fault.kind == FaultKind::BadChain && fault.line == line;
    let first = faults.first()?;
    let (line, before) = (first.line, first.line.saturating_sub(1));
    let says = match faults.get(1) {
        _ if !breaks(first, line) || before == 0 => format!("line {line}: {}", first.kind.word()),
        // The line after does not know it either.
        Some(next) if breaks(next, line + 1) => format!("line {line}: it does not name the line before"),
        Some(_) | None => format!("line {before}: it is not the line that line {line} names as the one before"),
    };
    Some(says)
}

fn only_torn(reader: Option<&Reader>) -> bool {
    reader.is_some_and(|reader| {
        let torn = |fault: &Fault| fault.kind == FaultKind::Torn;
        reader.index().faults().iter().all(torn)
    })
}

fn word(state: EvidenceState) -> String {
    serde_json::to_value(state)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
