//! One task's state as a sheet for a person: what was asked, where it stands, how its run ended, and what can be done
//! next. The trace is not read here.

use super::list::{checks_words, state_words};
use crate::screen::{self, Screen, Tone, fit};
use coder_agent::Cost;
use coder_journal::{Checks, CostStatus, Run, RunResult, Status, Task};
use std::fmt::Write as _;

/// The columns of the labels.
const LABEL: usize = 11;
/// How many lines of a prompt are shown.
const PROMPT_LINES: usize = 12;

/// The sheet of `task`.
pub fn task_sheet(task: &Task, screen: &Screen) -> String {
    let mut sheet = Sheet {
        screen,
        text: String::new(),
    };
    let (state, tone) = state_words(task.status, task.execution);
    sheet.heading(task.task_id.as_str(), &task.intent.title);
    sheet.toned("State", tone, &state);
    if let Some(reason) = &task.cancellation_reason {
        sheet.row("Because", reason);
    }
    if task.checks != Checks::NotRun {
        sheet.row("Checks", checks_words(task.checks));
    }
    if task.turn() > 1 {
        sheet.row("Turn", &task.turn().to_string());
    }
    sheet.prompt(task.prompt());
    sheet.row("Workspace", &task.intent.workspace.path);
    if let Some(model) = &task.intent.configuration.model {
        sheet.row(
            "Model",
            &format!("{} ({})", model.as_str(), task.intent.configuration.adapter),
        );
    }
    if let Some(run) = &task.run {
        sheet.run(run);
    }
    let next = match task.status {
        Status::Queued => "microcoder repository --grant FILE runs it".to_owned(),
        Status::Running | Status::CancelRequested | Status::Finished | Status::Cancelled | Status::Unknown => {
            format!("coder task view {} [--html FILE]", task.task_id)
        }
    };
    sheet.row("Next", &next);
    sheet.text
}

/// What a result says of the cost.
pub(crate) fn result_cost(result: &RunResult) -> Cost {
    match (result.cost_status, result.cost_microusd) {
        (CostStatus::Priced, Some(amount)) => Cost::Known(amount),
        (CostStatus::Partial, Some(amount)) => Cost::AtLeast(amount),
        (CostStatus::Partial | CostStatus::Priced, None) | (CostStatus::Unknown, _) => Cost::Unknown,
    }
}

struct Sheet<'a> {
    screen: &'a Screen,
    text: String,
}

impl Sheet<'_> {
    fn heading(&mut self, name: &str, title: &str) {
        let line = fit(&format!("{name}  {title}"), self.screen.width);
        let line = self.screen.paint(Tone::Strong, &line);
        // Writing to text cannot fail, here and below.
        let _ = writeln!(self.text, "{line}");
    }

    fn row(&mut self, label: &str, value: &str) {
        let value = fit(value, self.screen.width.saturating_sub(LABEL));
        let label = self.screen.paint(Tone::Quiet, &screen::padded(label, LABEL));
        let _ = writeln!(self.text, "{label}{value}");
    }

    fn toned(&mut self, label: &str, tone: Tone, value: &str) {
        let label = self.screen.paint(Tone::Quiet, &screen::padded(label, LABEL));
        let value = self
            .screen
            .paint(tone, &fit(value, self.screen.width.saturating_sub(LABEL)));
        let _ = writeln!(self.text, "{label}{value}");
    }

    fn prompt(&mut self, prompt: &str) {
        let lines = screen::wrapped(prompt, self.screen.width.saturating_sub(LABEL));
        for (place, line) in lines.iter().take(PROMPT_LINES).enumerate() {
            self.row(if place == 0 { "Prompt" } else { "" }, line);
        }
        if let Some(more) = lines.len().checked_sub(PROMPT_LINES).filter(|more| *more > 0) {
            self.row("", &format!("… {}", screen::counted(more as u64, "more line")));
        }
    }

    fn run(&mut self, run: &Run) {
        if let Some(revision) = &run.admission.source_revision {
            self.row("Commit", revision);
        }
        if let Some(reason) = &run.reason {
            self.toned("Unknown", Tone::Bad, reason);
        }
        let Some(result) = &run.result else { return };
        let took = result.elapsed_ms.map_or(String::new(), |elapsed| {
            format!(", after {}", screen::duration(elapsed))
        });
        self.row("Ended", &format!("{}{took}", result.ending));
        self.row("Cost", &screen::cost(result_cost(result)));
        if !result.group_clear {
            self.toned(
                "Processes",
                Tone::Bad,
                "not proved gone: something of the run may still be there",
            );
        }
        if result.output_incomplete {
            self.toned("Evidence", Tone::Bad, "incomplete: the run could not keep everything");
        }
        match (&result.artifact_file, &result.trace_digest) {
            (Some(_), _) => self.row("Candidate", "kept: coder task artifact --patch"),
            (None, Some(_)) => self.row("Candidate", "none kept"),
            (None, None) => self.row("Trace", "none"),
        }
        if let Some(report) = &run.report {
            let reason = report.reason.as_deref().unwrap_or_default();
            self.row("Check", &format!("{} {reason}", verdict_word(report.verdict)));
        }
        if let Some(reason) = &run.check_reason {
            self.row("Check", reason);
        }
    }
}

/// A verdict's word.
pub(crate) fn verdict_word(verdict: coder_journal::Verdict) -> &'static str {
    match verdict {
        coder_journal::Verdict::Passed => "passed",
        coder_journal::Verdict::Failed => "FAILED",
        coder_journal::Verdict::Unavailable => "unavailable",
        coder_journal::Verdict::Disputed => "disputed",
    }
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
