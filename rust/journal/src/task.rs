//! A task as a value, and how commands change it (facts 1.5 to 1.7). Pure: no clock, no file, no lock. How owner events
//! change it is in `transition`.

use crate::admission::Admission;
use crate::command::{Action, Command};
use crate::event::{CheckReport, RunResult};
use crate::intent::Intent;
use crate::state::{Checks, Execution, Status};
use crate::{Error, limits};
use coder_digest::{Digest, Identifier, TaskId};
use serde::{Deserialize, Serialize};

/// The schema of a receipt.
pub const RECEIPT_SCHEMA: &str = "openagents.coder.task-receipt.v1";
/// The cancellation reason the host writes when a correction overtakes a run.
pub const CORRECTED: &str = "the request was corrected while the task ran";

/// The version of the transition rules, stored with each record. A record is replayed under the rules it was accepted
/// under: a rule that becomes stricter becomes a new version, so old history stays valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// The first rules.
    Version1,
}

impl Rules {
    /// The rules of new records.
    pub const CURRENT: Self = Self::Version1;

    /// The number that is stored.
    pub fn number(self) -> u32 {
        match self {
            Self::Version1 => 1,
        }
    }

    /// The rules with this number, if this program has them.
    pub fn from_number(number: u32) -> Option<Self> {
        (number == 1).then_some(Self::Version1)
    }
}

/// A task. The field names are those of `coder task show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name.
    pub task_id: TaskId,
    /// 1 after the submit, one more with each record.
    pub revision: u64,
    /// What it is to do, as submitted.
    pub intent: Intent,
    /// Digest of the intent.
    pub intent_digest: Digest,
    /// Where it stands.
    pub status: Status,
    /// How the current turn's run went.
    pub execution: Execution,
    /// What the checks of the current turn say.
    pub checks: Checks,
    /// Why it was cancelled or asked to stop.
    pub cancellation_reason: Option<String>,
    /// Corrections, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// The run of the current turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Run>>,
    /// Prompts of later turns, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
    /// Runs of earlier turns, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Run>,
}

/// A replaced prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The revision it made.
    pub revision: u64,
    /// The new prompt.
    pub prompt: String,
    /// Why.
    pub reason: String,
}

/// The prompt of a later turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// The revision it made.
    pub revision: u64,
    /// The prompt.
    pub prompt: String,
}

/// One turn's run: what was admitted and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// 1, and one more each time an owner was lost.
    pub epoch: u64,
    /// The revision the `admitted` event made.
    pub revision: u64,
    /// What was admitted.
    pub admission: Admission,
    /// The one effect that was announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_id: Option<String>,
    /// The process that was started, where the owner records one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// Why the outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The checkers' report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CheckReport>,
    /// Why there is no report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_reason: Option<String>,
}

/// What a command's writer gets: the state right after the command's own transition (facts 1.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// [`RECEIPT_SCHEMA`].
    pub schema: String,
    /// The command.
    pub command_id: Identifier,
    /// Its task.
    pub task_id: TaskId,
    /// Digest of the command's exact bytes.
    pub request_digest: Digest,
    /// The record's place in the task's history, from 1.
    pub sequence: u64,
    /// The revision the command made.
    pub revision: u64,
    /// The status it left.
    pub status: Status,
    /// The execution it left.
    pub execution: Execution,
    /// The checks it left.
    pub checks: Checks,
}

impl Receipt {
    pub(crate) fn after(task: &Task, command_id: &Identifier, request_digest: Digest, sequence: u64) -> Self {
        Self {
            schema: RECEIPT_SCHEMA.to_owned(),
            command_id: command_id.clone(),
            task_id: task.task_id.clone(),
            request_digest,
            sequence,
            revision: task.revision,
            status: task.status,
            execution: task.execution,
            checks: task.checks,
        }
    }
}

impl Task {
    /// The current turn, from 1.
    pub fn turn(&self) -> usize {
        self.earlier.len() + 1
    }

    /// The prompt in force: the latest correction or follow-up, else the intent's.
    pub fn prompt(&self) -> &str {
        let correction = self.corrections.last().map(|last| (last.revision, &last.prompt));
        let follow_up = self.follow_ups.last().map(|last| (last.revision, &last.prompt));
        correction
            .max(follow_up)
            .map_or(&self.intent.prompt, |(_, prompt)| prompt)
    }

    /// Whether the task keeps its tree from other tasks (facts 2.6).
    pub fn reserves_tree(&self) -> bool {
        self.checks == Checks::Running
            || match self.status {
                Status::Running | Status::CancelRequested | Status::Unknown => true,
                Status::Queued | Status::Cancelled | Status::Finished => false,
            }
    }

    /// Whether the request was corrected after the current run was admitted.
    pub fn is_superseded(&self) -> bool {
        self.run.as_ref().is_some_and(|run| {
            self.corrections
                .last()
                .is_some_and(|correction| correction.revision > run.revision)
        })
    }

    /// Whether any turn ever had an owner.
    pub fn was_owned(&self) -> bool {
        self.run.is_some() || !self.earlier.is_empty()
    }

    pub(crate) fn submitted(task_id: TaskId, intent: Intent) -> Self {
        Self {
            task_id,
            revision: 1,
            intent_digest: intent.digest(),
            intent,
            status: Status::Queued,
            execution: Execution::NotStarted,
            checks: Checks::NotRun,
            cancellation_reason: None,
            corrections: Vec::new(),
            run: None,
            follow_ups: Vec::new(),
            earlier: Vec::new(),
        }
    }
}

/// The task after `command`, given the task before, or nothing where there was none.
///
/// # Errors
/// `not_found`, `revision_mismatch`, `invalid_transition` or `limit_exceeded`; the task is then unchanged.
pub fn apply_command(rules: Rules, task: Option<&Task>, command: &Command) -> Result<Task, Error> {
    match rules {
        Rules::Version1 => apply(task, command),
    }
}

fn apply(task: Option<&Task>, command: &Command) -> Result<Task, Error> {
    let expected = match (&command.action, task) {
        (Action::Submit { intent }, None) => {
            return Ok(Task::submitted(command.task_id.clone(), intent.as_ref().clone()));
        }
        (Action::Submit { .. }, Some(task)) => {
            return Err(Error::transition(&task.task_id, "a task is submitted once"));
        }
        (
            Action::Cancel { expected_revision, .. }
            | Action::Correct { expected_revision, .. }
            | Action::Continue { expected_revision, .. },
            _,
        ) => *expected_revision,
    };
    let Some(task) = task else {
        return Err(Error::NotFound {
            task: command.task_id.clone(),
        });
    };
    check_revision(task, expected)?;
    let mut next = task.clone();
    next.revision += 1;
    match &command.action {
        Action::Submit { .. } => {}
        Action::Cancel { reason, .. } => {
            next.status = match task.status {
                Status::Queued => Status::Cancelled,
                Status::Running => Status::CancelRequested,
                Status::Cancelled | Status::CancelRequested | Status::Finished | Status::Unknown => {
                    return Err(Error::transition(
                        &task.task_id,
                        "only a queued or running task is cancelled, and once",
                    ));
                }
            };
            next.cancellation_reason = Some(reason.clone());
        }
        Action::Correct { prompt, reason, .. } => correct(&mut next, prompt, reason),
        Action::Continue { prompt, .. } => follow_up(&mut next, prompt)?,
    }
    Ok(next)
}

fn correct(task: &mut Task, prompt: &str, reason: &str) {
    task.corrections.push(Correction {
        revision: task.revision,
        prompt: prompt.to_owned(),
        reason: reason.to_owned(),
    });
    if task.run.is_some() {
        if task.checks != Checks::Running {
            task.checks = Checks::Disputed;
        }
        if task.status == Status::Running {
            task.status = Status::CancelRequested;
            task.cancellation_reason = Some(CORRECTED.to_owned());
        }
    }
}

fn follow_up(task: &mut Task, prompt: &str) -> Result<(), Error> {
    match task.status {
        Status::Finished | Status::Cancelled => {}
        Status::Queued | Status::Running | Status::CancelRequested | Status::Unknown => {
            return Err(Error::transition(
                &task.task_id,
                "only a finished or cancelled task is continued",
            ));
        }
    }
    if task.checks == Checks::Running {
        return Err(Error::transition(
            &task.task_id,
            "a task is not continued while its checks run",
        ));
    }
    if let Some(run) = task.run.take() {
        task.earlier.push(*run);
    }
    if task.turn() > limits::TURNS {
        return Err(Error::LimitExceeded {
            what: "turns of one task",
            limit: limits::TURNS as u64,
            remedy: ": submit a new task",
        });
    }
    task.follow_ups.push(FollowUp {
        revision: task.revision,
        prompt: prompt.to_owned(),
    });
    task.status = Status::Queued;
    task.execution = Execution::NotStarted;
    task.checks = Checks::NotRun;
    task.cancellation_reason = None;
    Ok(())
}

pub(crate) fn check_revision(task: &Task, expected: u64) -> Result<(), Error> {
    if task.revision == expected {
        Ok(())
    } else {
        Err(Error::RevisionMismatch {
            task: task.task_id.clone(),
            expected,
            current: task.revision,
        })
    }
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
