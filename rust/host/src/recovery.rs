//! Closing what a vanished owner left (facts 2.7). Kills nothing and runs nothing again: a run ends as `owner_process_ended`
//! only where it is proved that nothing of it is left, by the names its trace holds; otherwise it stays unknown, with what may
//! still exist, and keeps its tree until a later look can prove it.

use crate::{Error, sweep};
use coder_digest::{Digest, TaskId};
use coder_journal::{Cleanup, Remains, Settled, Status, Store, Task};
use coder_process::{Gone, Holder, Standing};
use coder_trace::{EffectKind, EffectRecord, FaultKind, HolderRecord, PageSize, Reader, ResultRecord};
use coder_workspace::Published;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long a holder may take to end its tree after its host died: a loaded machine is slow, and a false alarm costs a
/// reserved tree.
const PATIENCE: Duration = Duration::from_secs(10);

/// What recovering a task came to.
#[derive(Debug)]
pub struct Recovered {
    /// The task as it is now.
    pub task: Task,
    /// What of its run may still exist, in words; empty where nothing can.
    pub remains: Vec<String>,
    /// What the run's commands had done with Git: what of it the repository has now, and what it has not, why and where it
    /// stays. Nothing where there was nothing to take over, and while something of the run may still exist.
    pub git: Option<Published>,
}

/// Closes what a vanished owner of `task` left, and takes over what its commands had committed.
///
/// # Errors
/// The journal's: `not_found`, `store_busy` where the owner lives.
pub fn recover(store: &Store, task: &TaskId) -> Result<Recovered, Error> {
    let mut found = Found::default();
    let recovered = store.recover(task, |task| {
        found = inspect(store.path(), task);
        found.remains()
    })?;
    let git = match found.open.is_empty() {
        true => sweep::one(store, task)?,
        false => None,
    };
    Ok(Recovered {
        task: recovered,
        remains: found.open,
        git,
    })
}

/// Closes what vanished owners of other tasks left in trees that overlap `workspace`, so that a dead run does not keep its
/// tree from a new one. What cannot be closed keeps it; the admission then says so.
pub(crate) fn settle_overlapping(store: &Store, task: &TaskId, workspace: &Path) -> Result<(), Error> {
    for summary in store.list()? {
        let reserves = match summary.status {
            Status::Running | Status::CancelRequested | Status::Unknown => true,
            Status::Queued | Status::Cancelled | Status::Finished => summary.checks.as_str() == "running",
        };
        if !reserves || summary.task_id == *task {
            continue;
        }
        let other = store.show(&summary.task_id)?;
        let tree = Path::new(&other.intent.workspace.path);
        if tree.starts_with(workspace) || workspace.starts_with(tree) {
            let settled: Settled = store.settle(&summary.task_id, |task| inspect(store.path(), task).remains())?;
            drop(settled);
        }
    }
    Ok(())
}

/// What a vanished owner's run left.
#[derive(Debug, Default)]
struct Found {
    /// How it is known that nothing is left.
    proof: Option<&'static str>,
    /// What may be.
    open: Vec<String>,
    trace_digest: Option<Digest>,
}

impl Found {
    fn remains(&self) -> Remains {
        let cleanup = match self.proof {
            Some(how) if self.open.is_empty() => Cleanup::ProvedClear { how: how.to_owned() },
            Some(_) | None => Cleanup::Unknown,
        };
        Remains {
            cleanup,
            trace_digest: self.trace_digest,
        }
    }
}

/// Looks at what the run's records name. Called under the owner's lock, so nothing is started meanwhile.
fn inspect(store: &Path, task: &Task) -> Found {
    let Some(run) = &task.run else { return Found::default() };
    let path = store.join(&run.admission.trace_file);
    let mut found = Found {
        trace_digest: std::fs::File::open(&path)
            .ok()
            .and_then(|file| Digest::of_reader(file).ok())
            .map(|(digest, _)| digest),
        ..Found::default()
    };
    if run.effect_id.is_none() {
        // Nothing starts before the epoch's intent is in the journal.
        found.proof = Some("nothing_was_started");
        return found;
    }
    match read(&path) {
        Ok(trees) => trees.judge(&mut found),
        Err(reason) => found.open.push(reason),
    }
    found
}

/// The processes a trace names.
#[derive(Debug, Default)]
struct Trees {
    holders: Vec<HolderRecord>,
    /// Effects whose processes are not held by a process of this machine, and that have no result.
    elsewhere: BTreeMap<u64, String>,
    /// Effects whose own result proves their processes gone.
    cleared: BTreeSet<u64>,
}

fn read(path: &Path) -> Result<Trees, String> {
    let reader = Reader::open(path).map_err(|error| format!("the trace cannot be read: {error}"))?;
    // The line a killed owner was writing announced nothing yet: an act begins only once its line is whole.
    let fault = reader
        .index()
        .faults()
        .into_iter()
        .find(|fault| fault.kind != FaultKind::Torn);
    if let Some(fault) = fault {
        return Err(format!(
            "line {} of the trace is damaged ({}), and may have named processes",
            fault.line,
            fault.kind.word()
        ));
    }
    let mut trees = Trees::default();
    let mut first = 1;
    loop {
        let page = reader
            .page(first, PageSize::default())
            .map_err(|error| format!("the trace cannot be read: {error}"))?;
        if page.is_empty() {
            return Ok(trees);
        }
        first += page.len() as u64;
        for recorded in page {
            if let Some(effect) = EffectRecord::of(&recorded.step) {
                trees.began(&effect);
            }
            trees.holders.extend(HolderRecord::of(&recorded.step));
            if let Some(result) = ResultRecord::of(&recorded.step) {
                trees.ended(&result);
            }
        }
    }
}

impl Trees {
    fn began(&mut self, effect: &EffectRecord) {
        match &effect.kind {
            EffectKind::ContainerCommand => {
                self.elsewhere
                    .insert(effect.sequence, format!("the container of effect {}", effect.sequence));
            }
            // Their processes, where they have any, are named by a holder of their own before they start.
            EffectKind::Generation
            | EffectKind::Decision
            | EffectKind::CodexRequest
            | EffectKind::ClaudeRequest
            | EffectKind::AnthropicRequest
            | EffectKind::OpenaiRequest
            | EffectKind::ScriptedRequest
            | EffectKind::Read
            | EffectKind::Command
            | EffectKind::AgentSession(_)
            | EffectKind::AgentPrompt(_) => {}
        }
    }

    fn ended(&mut self, result: &ResultRecord) {
        if result.result.get("group_clear").and_then(serde_json::Value::as_bool) == Some(true) {
            self.cleared.insert(result.sequence);
            self.elsewhere.remove(&result.sequence);
        }
    }

    fn judge(&self, found: &mut Found) {
        let mut restarted = true;
        let mut looked_for = 0;
        for holder in self
            .holders
            .iter()
            .filter(|holder| !self.cleared.contains(&holder.effect))
        {
            looked_for += 1;
            let name = Holder {
                process: holder.process,
                start_ticks: holder.start_ticks,
                boot: holder.boot.clone(),
                namespace: holder.namespace,
            };
            let told = |what: String| format!("the processes of effect {}: {what}", holder.effect);
            match name.standing(PATIENCE) {
                Standing::Gone(Gone::Restarted) => {}
                Standing::Gone(Gone::Ended) if holder.contains => restarted = false,
                Standing::Gone(Gone::Ended) => found.open.push(told(format!(
                    "process {} that held them is gone, and they were in no namespace of their own",
                    holder.process
                ))),
                Standing::Alive => found
                    .open
                    .push(told(format!("process {} that holds them still runs", holder.process))),
                Standing::Unknown(reason) => found.open.push(told(format!(
                    "process {} cannot be looked for: {reason}",
                    holder.process
                ))),
            }
        }
        found.open.extend(self.elsewhere.values().cloned());
        found.proof = Some(match (looked_for, restarted) {
            (0, _) => "no_process_was_left",
            (_, true) => "machine_restarted",
            (_, false) => "process_namespace_ended",
        });
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
