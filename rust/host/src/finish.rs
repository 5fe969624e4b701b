//! The end of a run: the candidate observed and kept, the disposition written, the trace sealed, the result put together.
//! Nothing here can fail the run any more; what could not be kept is said in the result.

use crate::admission::{Tree, observe_unless};
use crate::cancellation::LastLook;
use crate::guards::Absent;
use crate::quarantine::Held;
use crate::recorder::{Fault, FaultKind};
use crate::{Error, auto_exec, world};
use coder_agent::{Ask, Cost, Ending, Outcome};
use coder_boundary::Scratch;
use coder_digest::{BytePath, Clock, Digest};
use coder_journal::{CostStatus, Head, RunResult};
use coder_trace::{Source, Step, Writer};
use coder_workspace::{Extent, Git, IgnoredPaths, Patch, Published, RetainedArtifacts, Retention, Snapshot};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The longest patch that is kept, in bytes.
const PATCH_BYTES: usize = 8 * 1024 * 1024;
/// The most of a reason that a result holds, in bytes.
const REASON_BYTES: usize = 2048;
/// A summary longer than this is replaced by its digest.
const SUMMARY_BYTES: usize = 1024 * 1024;

/// What the run left, as far as it could be kept.
pub(crate) struct Candidate {
    snapshot: Option<Digest>,
    source_document: Option<Digest>,
    candidate_document: Option<Digest>,
    artifacts: Option<RetainedArtifacts>,
    patch: Option<Value>,
    faults: Vec<String>,
}

impl Candidate {
    /// Observes the workspace, keeps both snapshots, the changed files and a patch of them; `look` may cut that short.
    pub(crate) fn keep(store: &Path, tree: &Tree<'_>, clock: &Arc<dyn Clock>, look: &LastLook<'_>) -> Self {
        let mut kept = Self {
            snapshot: None,
            source_document: None,
            candidate_document: None,
            artifacts: None,
            patch: None,
            faults: Vec::new(),
        };
        let after = match observe_unless(clock, tree.cache, &tree.repository.top, &|| look.is_over()) {
            Ok(after) => after,
            Err(error) => {
                kept.faults.push(error.message());
                return kept;
            }
        };
        kept.snapshot = Some(after.digest());
        if let Err(error) = kept.retain(store, tree, &after, clock, look) {
            kept.faults.push(error.message());
        }
        kept
    }

    fn retain(
        &mut self,
        store: &Path,
        tree: &Tree<'_>,
        after: &Snapshot,
        clock: &Arc<dyn Clock>,
        look: &LastLook<'_>,
    ) -> Result<(), Error> {
        let retention = Retention::open(store)?;
        self.source_document = Some(keep_document(&retention, tree.source)?);
        self.candidate_document = Some(keep_document(&retention, after)?);
        // What a run did to its own Git files must not decide whether its work is kept.
        let ignored = tree.repository.ignored_paths(tree.git).unwrap_or_else(|error| {
            self.faults.push(Error::from(error).message());
            IgnoredPaths::default()
        });
        let given_up = || look.is_over();
        let observer = coder_workspace::Observer::new(clock.as_ref())
            .cache(tree.cache)
            .interrupt(&given_up);
        let artifacts = coder_workspace::retain(&retention, tree.source, after, &ignored, &observer)?;
        let artifacts = self.artifacts.insert(artifacts);
        let base = tree.repository.head.commit();
        if let (Some(base), false) = (base, artifacts.manifest.changes.is_empty()) {
            let scratch = Scratch::create(tree.scratch)?;
            let candidate = coder_workspace::Candidate {
                repository: tree.repository,
                base,
                after,
                changes: &artifacts.manifest.changes,
                ignored: &ignored,
            };
            let patch = coder_workspace::candidate_patch(tree.git, &candidate, &scratch.temporary(), PATCH_BYTES);
            self.patch = Some(keep_patch(&retention, &patch?)?);
        }
        Ok(())
    }

    /// The extension of the disposition that names everything kept.
    fn disposition(&self) -> Value {
        json!({
            "candidate_snapshot": self.snapshot.map(|digest| digest.hex()),
            "source_document": self.source_document,
            "candidate_document": self.candidate_document,
            "manifest": self.artifacts.as_ref().map(|kept| kept.digest),
            "complete": self.artifacts.as_ref().is_some_and(|kept| kept.manifest.complete),
            "patch": self.patch,
            "faults": self.faults,
        })
    }
}

fn keep_patch(retention: &Retention, patch: &Patch) -> Result<Value, Error> {
    let digest = retention.put(&patch.bytes)?;
    Ok(json!({
        "digest": digest,
        "bytes": patch.bytes.len(),
        "whole": patch.extent == Extent::Whole,
        "left_out": patch.left_out,
    }))
}

fn keep_document(retention: &Retention, snapshot: &Snapshot) -> Result<Digest, Error> {
    let text = coder_digest::json::canonical_of(snapshot).map_err(|error| Error::Retained {
        what: "snapshot",
        digest: snapshot.digest(),
        reason: error.to_string(),
    })?;
    Ok(retention.put(text.as_bytes())?)
}

/// What the run left where Git is.
pub(crate) struct Left {
    /// Names that Git would obey and that were not there before.
    pub(crate) appeared: Vec<PathBuf>,
    /// What has reached the repository.
    pub(crate) git: Published,
}

impl Left {
    /// Takes over what Git made in the quarantine, and looks what else is there.
    pub(crate) fn taken_over(absent: Absent, quarantine: Option<&mut Held>, git: &Git) -> Self {
        Self {
            appeared: absent.appeared(),
            git: quarantine.map_or_else(Published::default, |quarantine| quarantine.publish(git)),
        }
    }

    fn appeared(&self) -> Vec<BytePath> {
        self.appeared.iter().map(|path| path.as_path().into()).collect()
    }

    fn restored(&self) -> Vec<String> {
        self.git.restored.iter().map(|restored| restored.name.clone()).collect()
    }
}

/// What was run, and what it came to.
pub(crate) enum Ended {
    /// The agent's loop; nothing where it was not begun.
    Loop(Option<Outcome>),
    /// One command; nothing where it was not started.
    Command(Option<CommandEnd>),
}

/// How one command ended.
pub(crate) struct CommandEnd {
    /// The supervisor's word.
    pub(crate) word: &'static str,
    /// The exit status, if the command exited by itself.
    pub(crate) exit: Option<i32>,
}

/// Everything the result is made from.
pub(crate) struct Finish {
    pub(crate) ended: Ended,
    pub(crate) fault: Option<Fault>,
    pub(crate) stop_requested: bool,
    pub(crate) group_clear: bool,
    pub(crate) proof: Option<&'static str>,
    pub(crate) candidate: Candidate,
    /// The end of the journal's ledger when the run ended.
    pub(crate) journal_head: Option<Head>,
    pub(crate) left: Left,
    pub(crate) elapsed: Duration,
}

impl Finish {
    /// The stable word of the ending (facts 3.9 and 4.8).
    fn ending(&self) -> &'static str {
        if self.fault_kind() == Some(FaultKind::DiskFull) {
            return "disk_full";
        }
        if !self.group_clear && !self.stop_requested {
            return "process_cleanup_unknown";
        }
        match &self.ended {
            Ended::Loop(None) | Ended::Command(None) if self.stop_requested && self.fault.is_none() => {
                "cancelled_before_dispatch"
            }
            Ended::Loop(None) | Ended::Command(None) => "cancelled_or_host_refusal",
            Ended::Loop(Some(_)) | Ended::Command(Some(_)) if self.fault.is_some() => "cancelled_or_host_refusal",
            Ended::Command(Some(command)) => command.word,
            Ended::Loop(Some(outcome)) => match &outcome.ending {
                Ending::Finished => "model_finished",
                Ending::Asked { ask: Ask::Approval } => "asked_approval",
                Ending::Asked {
                    ask: Ask::Question | Ask::None,
                } => "asked_question",
                Ending::NoCapacity { .. } => "no_capacity",
                Ending::Stopped | Ending::HostFault(_) => "cancelled_or_host_refusal",
                Ending::BadReplies(_) | Ending::Idle | Ending::Stuck(_) | Ending::StepLimit | Ending::TimeLimit => {
                    "loop_incomplete"
                }
            },
        }
    }

    /// Why it ended so, where the word does not say it: which guard ended the loop, what the host met (trap h).
    fn reason(&self) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(bounded(fault.reason.clone()));
        }
        match &self.ended {
            Ended::Loop(Some(outcome)) if !outcome.ending.is_completed() => {
                Some(bounded(format!("{}: {}", outcome.ending.reason(), outcome.ending)))
            }
            Ended::Loop(_) | Ended::Command(_) => None,
        }
    }

    fn exit_code(&self) -> Option<i32> {
        match &self.ended {
            Ended::Loop(outcome) => {
                let completed = outcome.as_ref().is_some_and(|outcome| outcome.ending.is_completed());
                Some(i32::from(!completed || self.fault.is_some()))
            }
            // A status that the host could not retain the evidence of is not one to build on.
            Ended::Command(end) => end.as_ref().filter(|_| self.fault.is_none()).and_then(|end| end.exit),
        }
    }

    fn fault_kind(&self) -> Option<FaultKind> {
        self.fault.as_ref().map(|fault| fault.kind)
    }

    /// The ending in one sentence.
    pub(crate) fn summary(&self) -> String {
        match (&self.fault, &self.ended) {
            (Some(fault), _) => fault.reason.clone(),
            (None, Ended::Loop(Some(outcome))) => outcome.ending.to_string(),
            (None, Ended::Command(Some(end))) => match end.exit {
                Some(status) => format!("the command exited with status {status}"),
                None => format!("the command ended: {}", end.word.replace('_', " ")),
            },
            (None, Ended::Loop(None) | Ended::Command(None)) => {
                "the run was stopped before anything was done".to_owned()
            }
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        match &self.ended {
            Ended::Loop(outcome) => outcome.as_ref(),
            Ended::Command(_) => None,
        }
    }

    /// Writes the disposition and the end, and returns the journal's result.
    pub(crate) fn seal(self, mut writer: Writer) -> RunResult {
        let mut result = self.result();
        let (retained, mut faults) = match write_disposition(&self, &result, &mut writer) {
            Ok(()) => (true, Vec::new()),
            Err(error) => (false, vec![world::chain(&error)]),
        };
        result.trace_digest = match writer.seal() {
            Ok(sealed) => Some(sealed.digest),
            Err(error) => {
                faults.push(world::chain(&error));
                None
            }
        };
        result.output_incomplete |= !retained || !faults.is_empty();
        result
    }

    /// The result as far as it is known before the trace is sealed: all but the digest, and what of the end fails yet.
    fn result(&self) -> RunResult {
        let (cost_status, cost_microusd) = cost(self.outcome().map(|outcome| outcome.cost));
        let artifacts = self.candidate.artifacts.as_ref();
        let (auto_exec, auto_exec_omitted) = artifacts
            .map(|kept| auto_exec::findings(&kept.manifest.changes))
            .unwrap_or_default();
        RunResult {
            ending: self.ending().to_owned(),
            reason: self.reason(),
            exit_code: self.exit_code(),
            stop_requested: self.stop_requested,
            group_clear: self.group_clear,
            cleanup: self.proof.map(str::to_owned),
            elapsed_ms: Some(u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX)),
            trace_digest: None,
            candidate_snapshot: self.candidate.snapshot,
            artifact_file: artifacts.map(|kept| kept.file_name.clone()),
            artifact_digest: artifacts.map(|kept| kept.digest),
            git_restored: self.left.restored(),
            appeared: self.left.appeared(),
            auto_exec,
            auto_exec_omitted,
            output_incomplete: matches!(self.fault_kind(), Some(FaultKind::Retention | FaultKind::DiskFull))
                || !self.candidate.faults.is_empty(),
            cost_status,
            cost_microusd,
            engine_microusd: None,
            jev_microusd: None,
            payer: None,
        }
    }
}

fn write_disposition(finish: &Finish, result: &RunResult, writer: &mut Writer) -> Result<(), coder_trace::Error> {
    let ending = &result.ending;
    let summary = json!({
        "ending": ending,
        "outcome": finish.outcome(),
        "summary": finish.summary(),
        "stop_requested": finish.stop_requested,
        "group_clear": finish.group_clear,
    });
    let text = summary.to_string();
    let summary = if text.len() > SUMMARY_BYTES {
        json!({ "ending": ending, "omitted": coder_digest::json::digest(&summary).hex(), "bytes": text.len() })
    } else {
        summary
    };
    let mut step = Step::new(Source::System, finish.summary())
        .with_extension("adapter_summary", &summary)?
        .with_extension("candidate", &finish.candidate.disposition())?
        .with_extension("result", result)?
        .with_extension("git", &finish.left.git)?
        .with_extension("appeared", &finish.left.appeared())?
        .with_extension("host_fault", &finish.fault.as_ref().map(|fault| fault.reason.as_str()))?;
    if let Some(head) = &finish.journal_head {
        step = step.with_extension("journal_head", head)?;
    }
    writer.append_final(&step).map(drop)
}

/// A sentence cut to what a result may hold.
fn bounded(mut text: String) -> String {
    if text.len() > REASON_BYTES {
        let end = (0..=REASON_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

fn cost(cost: Option<Cost>) -> (CostStatus, Option<u64>) {
    match cost {
        Some(Cost::Known(amount)) => (CostStatus::Priced, Some(amount)),
        Some(Cost::AtLeast(amount)) => (CostStatus::Partial, Some(amount)),
        Some(Cost::Unknown) => (CostStatus::Unknown, None),
        // No request was ever made.
        None => (CostStatus::Priced, Some(0)),
    }
}

/// The result of a run whose trace could not be made; nothing was run.
pub(crate) fn without_trace(error: &coder_trace::Error, elapsed: Duration) -> RunResult {
    RunResult {
        ending: if error.is_disk_full() {
            "disk_full"
        } else {
            "cancelled_or_host_refusal"
        }
        .to_owned(),
        reason: Some(bounded(world::chain(error))),
        exit_code: Some(1),
        stop_requested: false,
        group_clear: true,
        cleanup: None,
        elapsed_ms: Some(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)),
        trace_digest: None,
        candidate_snapshot: None,
        artifact_file: None,
        artifact_digest: None,
        git_restored: Vec::new(),
        appeared: Vec::new(),
        auto_exec: Vec::new(),
        auto_exec_omitted: 0,
        output_incomplete: true,
        cost_status: CostStatus::Priced,
        cost_microusd: Some(0),
        engine_microusd: None,
        jev_microusd: None,
        payer: None,
    }
}
