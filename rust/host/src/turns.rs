//! What a turn is told of the ones before it (facts 4.10): up to eight earlier turns, each by its prompt and its last reply,
//! and every correction that no run has taken up yet. The same is put into the trace, so that it shows what the model knew.

use crate::recorder::Recorder;
use coder_agent::HostFault;
use coder_journal::{Correction, REPOSITORY, Run, Task};
use coder_trace::{PageSize, Reader, Source, Step};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// How many earlier turns are carried.
const CARRIED: usize = 8;
/// The most of each prompt and reply, in bytes.
const CARRIED_BYTES: usize = 4096;

/// What came before this turn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    turns: Vec<Earlier>,
    corrections: Vec<Correction>,
    /// Whether the last correction is itself the prompt in force.
    corrected: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Earlier {
    number: usize,
    prompt: String,
    reply: Option<String>,
}

impl Before {
    /// Gathers it from the task's records and the traces in `store`. A trace that cannot be read any more costs its reply.
    pub(crate) fn of(task: &Task, store: &Path) -> Self {
        let skipped = task.earlier.len().saturating_sub(CARRIED);
        let turns = task.earlier.iter().enumerate().skip(skipped);
        let turns = turns.map(|(index, run)| Earlier {
            number: index + 1,
            prompt: cut(prompt_at(task, run.revision)),
            reply: last_reply(run, store).as_deref().map(cut),
        });
        let taken_up = task.earlier.last().map_or(0, |run| run.revision);
        let corrections = task
            .corrections
            .iter()
            .filter(|correction| correction.revision > taken_up);
        let asked = task.follow_ups.last().map_or(0, |asked| asked.revision);
        Self {
            turns: turns.collect(),
            corrected: task.corrections.last().is_some_and(|last| last.revision > asked),
            corrections: corrections.cloned().collect(),
        }
    }

    /// The prompt the loop is given: what came before, then the prompt in force.
    pub(crate) fn prompt(&self, in_force: &str) -> String {
        // The correction that is the prompt in force is not said twice.
        let superseded = self.corrections.len() - usize::from(self.corrected && !self.corrections.is_empty());
        let corrections = self.corrections.get(..superseded).unwrap_or_default();
        if self.turns.is_empty() && corrections.is_empty() {
            return in_force.to_owned();
        }
        let mut text = String::from("Earlier in this task, oldest first:\n");
        for turn in &self.turns {
            let _ = write!(text, "\n## Turn {}: the user asked\n\n{}\n", turn.number, turn.prompt);
            let reply = turn.reply.as_deref().unwrap_or("(no reply was kept)");
            let _ = write!(text, "\n## Turn {}: you replied\n\n{reply}\n", turn.number);
        }
        for correction in corrections {
            let (reason, prompt) = (cut(&correction.reason), cut(&correction.prompt));
            let _ = write!(
                text,
                "\n## Then the user corrected the request ({reason})\n\n{prompt}\n"
            );
        }
        let _ = write!(text, "\n## Now the user asks\n\n{in_force}");
        text
    }

    /// Puts the earlier turns into the trace, each step marked with the turn it is carried from.
    pub(crate) fn record_turns(&self, recorder: &Recorder) -> Result<(), HostFault> {
        for turn in &self.turns {
            let carried = |mut step: Step| {
                step.extensions
                    .insert("carried_from".to_owned(), json!({ "turn": turn.number }));
                recorder.append(&step)
            };
            carried(Step::new(Source::User, turn.prompt.as_str()))?;
            if let Some(reply) = &turn.reply {
                carried(Step::new(Source::Agent, reply.as_str()))?;
            }
        }
        Ok(())
    }

    /// Acknowledges in the trace each correction this run takes up.
    pub(crate) fn record_corrections(&self, recorder: &Recorder) -> Result<(), HostFault> {
        for correction in &self.corrections {
            let consumed = json!({
                "revision": correction.revision,
                "reason": correction.reason,
                "adapter": REPOSITORY,
                "acknowledgment": "next_turn_start",
            });
            recorder.note("A correction is taken up.", "steer_consumed", &consumed)?;
        }
        Ok(())
    }
}

/// The prompt in force when a run was admitted.
fn prompt_at(task: &Task, revision: u64) -> &str {
    let corrections = task.corrections.iter().map(|one| (one.revision, one.prompt.as_str()));
    let follow_ups = task.follow_ups.iter().map(|one| (one.revision, one.prompt.as_str()));
    corrections
        .chain(follow_ups)
        .filter(|(made, _)| *made < revision)
        .max()
        .map_or(task.intent.prompt.as_str(), |(_, prompt)| prompt)
}

/// What the model said to the user last in a run that ended.
fn last_reply(run: &Run, store: &Path) -> Option<String> {
    let reader = Reader::open(&store.join(&run.admission.trace_file)).ok()?;
    let last = reader.page(reader.index().steps(), PageSize::default()).ok()?.pop()?;
    let summary = last.step.extensions.get("adapter_summary")?;
    Some(summary.pointer("/outcome/reply")?.as_str()?.to_owned())
}

fn cut(text: &str) -> String {
    if text.len() <= CARRIED_BYTES {
        return text.to_owned();
    }
    let end = (0..=CARRIED_BYTES).rev().find(|end| text.is_char_boundary(*end));
    format!("{}\n[cut]", text.get(..end.unwrap_or_default()).unwrap_or_default())
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
