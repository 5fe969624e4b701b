//! One check: the suite runs, and everything its verdict rests on becomes typed evidence. What it printed goes along, to be kept
//! under its digest. Nothing here fails: whatever keeps a suite from judging is evidence too.

use super::place::{Place, Prepared};
use super::suite::Suite;
use super::trust::{Approval, TrustStore};
use crate::outcome::tree_json;
use crate::requirements::PlannedCheck;
use crate::world;
use coder_digest::{Clock, Digest};
use coder_journal::{CheckOutcome, Held, Judgement, Sameness, SuiteEnding, SuiteEvidence};
use coder_process::{Cancel, Ending, Event, Flow, Outcome, Output, Window};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// What one check is run with.
pub(super) struct Check<'a> {
    pub(super) planned: &'a PlannedCheck,
    pub(super) suite: &'a Suite,
    pub(super) place: Place<'a>,
    pub(super) trust: &'a TrustStore,
    pub(super) candidate: Digest,
    /// How long it may take at most: what is left of the plan's time.
    pub(super) remaining: Duration,
    pub(super) clock: &'a dyn Clock,
    pub(super) cancel: &'a Cancel,
}

/// What one check saw, with the bytes that its digests are of.
pub(super) struct Checked {
    pub(super) outcome: CheckOutcome,
    /// At most the plan's `output_bytes` each.
    pub(super) streams: [Vec<u8>; 2],
}

/// What is known before a judgement is derived from it.
struct Facts {
    ending: SuiteEnding,
    detail: Option<String>,
    elapsed: Duration,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    group_clear: bool,
    boundary: Held,
    enforced: Value,
}

impl Facts {
    /// Of a suite of which no process was ever there.
    fn not_started(detail: String) -> Self {
        Self {
            ending: SuiteEnding::NotStarted,
            detail: Some(detail),
            elapsed: Duration::ZERO,
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
            group_clear: true,
            boundary: Held::Whole,
            enforced: Value::Null,
        }
    }
}

impl Check<'_> {
    /// Runs it.
    pub(super) fn run(&self) -> Checked {
        let workspace: &Path = self.place.workspace;
        // Read again for each check, so that an approval which was taken back meanwhile counts at once.
        let (facts, approval) = match self.trust.decide(self.suite, workspace) {
            Ok(approval) => (self.judge(), Some(approval)),
            Err(error) => (Facts::not_started(error.message()), None),
        };
        self.outcome(facts, approval)
    }

    fn judge(&self) -> Facts {
        let prepared = match self.place.prepare(self.suite) {
            Ok(prepared) => prepared,
            Err(error) => return Facts::not_started(error.message()),
        };
        match prepared.missing(self.suite) {
            Some(program) => Facts::not_started(format!(
                "`{program}`, which its manifest needs, is not on the suite's PATH"
            )),
            None => self.supervised(&prepared),
        }
    }

    fn supervised(&self, prepared: &Prepared) -> Facts {
        let window = Output::Capture(Window {
            head: self.planned.output_bytes,
            tail: 0,
        });
        let command = prepared
            .command(self.suite, &self.candidate.hex())
            .stdout(window)
            .stderr(window)
            .deadline(self.remaining.min(Duration::from_secs(self.planned.seconds)));
        let ended = coder_process::run(&command, self.cancel, &mut |event| match event {
            Event::Started { layers, .. }
                if prepared.boundary.enforced(layers).satisfies(&prepared.demand).is_err() =>
            {
                Flow::Stop
            }
            Event::Holding { .. } | Event::Started { .. } | Event::Output { .. } => Flow::Continue,
        });
        match ended {
            Ok(outcome) => facts(prepared, outcome),
            Err(error @ coder_process::Error::Watch { .. }) => Facts {
                ending: SuiteEnding::Unknown,
                group_clear: false,
                ..Facts::not_started(world::chain(&error))
            },
            Err(error) if self.cancel.is_cancelled() => Facts {
                ending: SuiteEnding::Interrupted,
                ..Facts::not_started(world::chain(&error))
            },
            Err(error) => Facts::not_started(world::chain(&error)),
        }
    }

    fn outcome(&self, facts: Facts, approval: Option<Approval>) -> Checked {
        let (suite_evidence, malformed) = match facts.ending {
            SuiteEnding::Exited(0) if !facts.truncated => match SuiteEvidence::read(&facts.stdout) {
                Ok(said) => (Some(said), None),
                Err(reason) => (None, Some(reason)),
            },
            _ => (None, None),
        };
        let mut outcome = CheckOutcome {
            id: self.planned.id.clone(),
            verdict: Judgement::Unverifiable,
            reason: String::new(),
            ending: facts.ending,
            elapsed_ms: u64::try_from(facts.elapsed.as_millis()).unwrap_or(u64::MAX),
            stdout_digest: Digest::of(&facts.stdout),
            stderr_digest: Digest::of(&facts.stderr),
            output_truncated: facts.truncated,
            suite_evidence,
            group_clear: facts.group_clear,
            grader: match facts.ending {
                // Nothing judged, so nothing could have been meddled with; what was found is what it was found as.
                SuiteEnding::NotStarted => Sameness::Unchanged,
                _ => self.suite.sameness(self.clock),
            },
            boundary: facts.boundary,
            enforced: facts.enforced,
            approval: approval.map_or(
                Value::Null,
                |approval| json!({ "store": self.trust.path().display().to_string(), "record": approval }),
            ),
        };
        let (verdict, reason) = outcome.judged(&self.planned.suite_digest, &self.candidate);
        outcome.verdict = verdict;
        outcome.reason = match facts.detail.or(malformed) {
            Some(detail) => format!("{reason}: {detail}"),
            None => reason.to_owned(),
        };
        Checked {
            outcome,
            streams: [facts.stdout, facts.stderr],
        }
    }
}

fn facts(prepared: &Prepared, outcome: Outcome) -> Facts {
    let enforced = prepared.boundary.enforced(outcome.layers);
    let shortfall = enforced.satisfies(&prepared.demand).err();
    let (ending, detail) = match outcome.ending {
        Ending::Exited(status) => (SuiteEnding::Exited(status), None),
        Ending::Signalled(signal) => (SuiteEnding::Signalled(signal), None),
        Ending::DeadlineExceeded { .. } => (SuiteEnding::DeadlineExceeded, None),
        Ending::Cancelled { .. } | Ending::Stopped { .. } => {
            (SuiteEnding::Interrupted, shortfall.as_ref().map(ToString::to_string))
        }
        Ending::OutputLimit { .. } | Ending::Unknown => (SuiteEnding::Unknown, None),
    };
    Facts {
        ending,
        detail: match ending {
            SuiteEnding::Exited(status) if status != 0 => Some(format!("its status is {status}")),
            SuiteEnding::Signalled(signal) => Some(format!("signal {signal}")),
            _ => detail,
        },
        elapsed: outcome.elapsed,
        truncated: outcome.stdout.truncated() || outcome.stderr.truncated(),
        group_clear: tree_json(outcome.tree).0,
        boundary: match shortfall {
            None => Held::Whole,
            Some(_) => Held::Less,
        },
        enforced: serde_json::to_value(&enforced).unwrap_or_default(),
        stdout: outcome.stdout.head,
        stderr: outcome.stderr.head,
    }
}
