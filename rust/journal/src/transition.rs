//! How owner events change a task (facts 2.5). Pure, like the rest of the task's machine; the caller holds the owner's
//! lock and the tree's reservation. One function per event, each the list of its conditions and then its effect.

use crate::admission::Admission;
use crate::event::{CHECKER_OWNER_LOST, CHECKS_SCHEMA, CheckReport, Event, OWNER_LOST, OWNER_PROCESS_ENDED};
use crate::event::{RunResult, Verdict};
use crate::state::{Checks, Execution, Status};
use crate::task::{Rules, Run, Task};
use crate::{Error, limits};
use coder_digest::{Digest, json};
use serde_json::Value;

/// The task after `event` of the owner of `epoch`.
///
/// # Errors
/// `invalid_transition`, naming the rule; the task is then unchanged.
pub fn apply_event(rules: Rules, task: &Task, epoch: u64, event: &Event) -> Result<Task, Error> {
    match rules {
        Rules::Version1 => apply(task, epoch, event),
    }
}

/// The epoch that records `event` on `task`: a lost owner opens the next one.
pub(crate) fn epoch_of(task: &Task, event: &Event) -> u64 {
    let epoch = task.run.as_ref().map_or(1, |run| run.epoch);
    match event {
        Event::OwnerLost {} | Event::CheckOwnerLost {} => epoch + 1,
        Event::Admitted { .. }
        | Event::EffectIntent { .. }
        | Event::Spawned { .. }
        | Event::Result { .. }
        | Event::CheckIntent {}
        | Event::Checked { .. } => epoch,
    }
}

fn apply(task: &Task, epoch: u64, event: &Event) -> Result<Task, Error> {
    let mut next = task.clone();
    next.revision += 1;
    let refuse = |rule| Err(Error::transition(&task.task_id, rule));
    let Some(run) = next.run.as_deref_mut() else {
        let Event::Admitted { admission } = event else {
            return refuse("nothing was admitted");
        };
        return match unmet_admission(task, epoch, admission) {
            Some(rule) => refuse(rule),
            None => Ok(admit(next, epoch, admission)),
        };
    };
    if epoch != epoch_of(task, event) {
        return refuse("the owner's epoch is over");
    }
    let broken = match event {
        Event::Admitted { .. } => Some("the turn was admitted before"),
        Event::EffectIntent { effect_id } => unmet_intent(task, run, effect_id),
        Event::Spawned { process_id } => unmet_spawn(task, run, *process_id),
        Event::Result { result } => unmet_result(task, run, result),
        Event::OwnerLost {} => (!is_active(task) || run.result.is_some()).then_some("no run is under way"),
        Event::CheckIntent {} => unmet_check_intent(task, run),
        Event::Checked { report } => unmet_report(task, run, report),
        Event::CheckOwnerLost {} => (task.checks != Checks::Running).then_some("no checks are under way"),
    };
    if let Some(rule) = broken {
        return refuse(rule);
    }
    match event {
        Event::Admitted { .. } => {}
        Event::EffectIntent { effect_id } => run.effect_id = Some(effect_id.clone()),
        Event::Spawned { process_id } => run.process_id = Some(*process_id),
        Event::Result { result } => {
            run.result = Some(result.as_ref().clone());
            (next.status, next.execution) = outcome(task, result);
        }
        Event::OwnerLost {} => {
            run.epoch = epoch;
            run.reason = Some(OWNER_LOST.to_owned());
            next.status = Status::Unknown;
            next.execution = Execution::Unknown;
        }
        Event::CheckIntent {} => next.checks = Checks::Running,
        Event::Checked { report } => {
            run.report = Some(report.as_ref().clone());
            next.checks = if task.is_superseded() {
                Checks::Disputed
            } else {
                match report.verdict {
                    Verdict::Passed => Checks::Passed,
                    Verdict::Failed => Checks::Failed,
                    Verdict::Unavailable => Checks::Unavailable,
                    Verdict::Disputed => Checks::Disputed,
                }
            };
        }
        Event::CheckOwnerLost {} => {
            run.epoch = epoch;
            run.check_reason = Some(CHECKER_OWNER_LOST.to_owned());
            next.checks = Checks::Unavailable;
        }
    }
    Ok(next)
}

fn is_active(task: &Task) -> bool {
    match task.status {
        Status::Running | Status::CancelRequested => true,
        Status::Queued | Status::Cancelled | Status::Finished | Status::Unknown => false,
    }
}

fn unmet_admission(task: &Task, epoch: u64, admission: &Admission) -> Option<&'static str> {
    if task.status != Status::Queued {
        Some("only a queued task is admitted")
    } else if epoch != 1 {
        Some("a turn begins with epoch 1")
    } else {
        admission.broken_rule(task)
    }
}

fn admit(mut task: Task, epoch: u64, admission: &Admission) -> Task {
    task.run = Some(Box::new(Run {
        epoch,
        revision: task.revision,
        admission: admission.clone(),
        effect_id: None,
        process_id: None,
        result: None,
        reason: None,
        report: None,
        check_reason: None,
    }));
    task.status = Status::Running;
    task.execution = Execution::Running;
    task
}

fn unmet_intent(task: &Task, run: &Run, effect_id: &str) -> Option<&'static str> {
    if task.status != Status::Running {
        Some("an effect begins only while the task runs and no stop was asked")
    } else if run.effect_id.is_some() {
        Some("the turn's effect was announced before")
    } else if effect_id != format!("{}:{}:command", task.task_id, task.turn()) {
        Some("the effect id is not `<task>:<turn>:command`")
    } else {
        None
    }
}

fn unmet_spawn(task: &Task, run: &Run, process_id: u32) -> Option<&'static str> {
    if !is_active(task) || run.result.is_some() {
        Some("no run is under way")
    } else if run.effect_id.is_none() {
        Some("a process starts only after its effect was announced")
    } else if run.process_id.is_some() {
        Some("the turn's process was recorded before")
    } else if process_id == 0 {
        Some("a process id is not zero")
    } else {
        None
    }
}

fn unmet_result(task: &Task, run: &Run, result: &RunResult) -> Option<&'static str> {
    let is_settling = task.status == Status::Unknown && result.ending == OWNER_PROCESS_ENDED;
    if run.result.is_some() {
        Some("the turn has a result")
    } else if !is_active(task) && !is_settling {
        Some("no run is under way")
    } else if !is_word(&result.ending) {
        Some("an ending is a snake_case word of at most 64 bytes")
    } else if result
        .reason
        .as_ref()
        .is_some_and(|reason| reason.len() > limits::RESULT_REASON_BYTES)
    {
        Some("a result's reason is at most 4096 bytes")
    } else if !result.cost_is_consistent() {
        Some("the cost fields contradict each other")
    } else if result.cleanup.is_some() && !result.group_clear {
        Some("a proof of cleanup without a clear group")
    } else {
        None
    }
}

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

fn outcome(task: &Task, result: &RunResult) -> (Status, Execution) {
    if !result.group_clear {
        (Status::Unknown, Execution::Unknown)
    } else if result.stop_requested || task.status == Status::CancelRequested {
        (Status::Finished, Execution::Stopped)
    } else if result.exit_code == Some(0) {
        (Status::Finished, Execution::Finished)
    } else {
        (Status::Finished, Execution::Failed)
    }
}

fn unmet_check_intent(task: &Task, run: &Run) -> Option<&'static str> {
    if task.status != Status::Finished || run.result.is_none() {
        Some("only a finished run is checked")
    } else if task.checks != Checks::NotRun {
        Some("checks run once in a turn")
    } else if task.is_superseded() {
        Some("the request was corrected since the run")
    } else if run.admission.requirements().is_null() {
        Some("the grant pins no requirements")
    } else {
        None
    }
}

fn unmet_report(task: &Task, run: &Run, report: &CheckReport) -> Option<&'static str> {
    let admission = &run.admission;
    let context = admission.context.get("digest").and_then(Value::as_str);
    let context = context.map(str::parse::<Digest>);
    let candidate = run.result.as_ref().and_then(|result| result.candidate_snapshot);
    if task.checks != Checks::Running {
        Some("no checks are under way")
    } else if report.schema != CHECKS_SCHEMA {
        Some("the report has another schema")
    } else if report.requirements_digest != json::digest(admission.requirements()) {
        Some("the report is for other requirements")
    } else if context.is_some() && context != report.context_digest.map(Ok) {
        Some("the report is for another context")
    } else if report.candidate_snapshot != candidate {
        Some("the report is for another candidate")
    } else {
        crate::evidence::broken_rule(report, admission.requirements(), &admission.context)
    }
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
