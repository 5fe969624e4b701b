//! A page of a task's evidence as a story for a person: time on the left, what happened beside it, the first lines of
//! what commands printed below them. JSON is for programs, and the page of `page` for whoever wants it all at once.

use super::View;
use super::show::result_cost;
use crate::screen::{self, Screen, Tone, fit};
use crate::timeline::{Asked, Command, Entry, Event, Output, Timeline};
use coder_trace::{EvidenceState, Source, Tokens};
use std::fmt::Write as _;

/// The columns of the time.
const TIME: usize = 10;
/// How many lines of an output, a script or a message are shown.
const LINES: usize = 6;

impl View {
    /// The page for a terminal. A step that was begun before the page or ends after it is told as far as it is there.
    pub fn story(&self, screen: &Screen) -> String {
        let mut story = Story {
            screen,
            text: String::new(),
        };
        story.text.push_str(&super::task_sheet(&self.task, screen));
        story.evidence(self);
        story.text.push('\n');
        let first = self.evidence.steps.first().map_or(1, |step| step.number);
        let steps = self.evidence.steps.iter();
        let timeline = Timeline::of(first, steps.map(|step| step.recorded.clone()));
        for entry in &timeline.entries {
            story.entry(entry);
        }
        story.ending(self);
        story.text
    }
}

/// An evidence state for a person, and whether it is good.
pub(crate) fn evidence_words(state: EvidenceState) -> (&'static str, Tone) {
    match state {
        EvidenceState::NotStarted => ("no trace yet: the task was not run", Tone::Quiet),
        EvidenceState::Missing => ("the trace is missing", Tone::Bad),
        EvidenceState::UnavailableOrUnsafe => ("the trace cannot be opened, or is no private file", Tone::Bad),
        EvidenceState::Unreadable => ("the trace cannot be read", Tone::Bad),
        EvidenceState::Oversized => ("the trace is too large to be read", Tone::Bad),
        EvidenceState::Malformed => ("the file in the trace's place is no trace", Tone::Bad),
        EvidenceState::DigestMismatch => ("the trace is not the one the result names", Tone::Bad),
        EvidenceState::Damaged => ("some lines of the trace are damaged", Tone::Bad),
        EvidenceState::Incomplete => ("the run could not keep everything", Tone::Bad),
        EvidenceState::Unsealed => (
            "not sealed: the run has not ended, or no result names the trace",
            Tone::Busy,
        ),
        EvidenceState::Sealed => ("sealed: whole, ended, and the one the result names", Tone::Good),
    }
}

/// Tokens for a person; what nobody reported is `?`.
pub(crate) fn token_words(tokens: Tokens) -> String {
    let number = |count: Option<u64>| count.map_or("?".to_owned(), screen::count);
    let cached = tokens
        .cached
        .filter(|cached| *cached > 0)
        .map_or(String::new(), |cached| format!(" ({} cached)", screen::count(cached)));
    let reasoning = tokens
        .reasoning
        .filter(|reasoning| *reasoning > 0)
        .map_or(String::new(), |reasoning| {
            format!(" ({} reasoning)", screen::count(reasoning))
        });
    format!(
        "{} in{cached}, {} out{reasoning}",
        number(tokens.input),
        number(tokens.output)
    )
}

struct Story<'a> {
    screen: &'a Screen,
    text: String,
}

impl Story<'_> {
    fn evidence(&mut self, view: &View) {
        let (words, tone) = evidence_words(view.evidence.state);
        self.label("Evidence", tone, words);
        for fault in view.evidence.faults.iter().take(LINES) {
            self.label("", Tone::Bad, &format!("line {}: {}", fault.line, fault.kind.word()));
        }
        let more = view.evidence.faults.len().saturating_sub(LINES) as u64 + view.evidence.faults_omitted;
        if more > 0 {
            self.label("", Tone::Bad, &format!("and {}", screen::counted(more, "more fault")));
        }
        let faults = view.artifact_error.iter().chain(&view.artifact_faults);
        for fault in faults.take(LINES) {
            self.label("Candidate", Tone::Bad, fault);
        }
    }

    fn label(&mut self, label: &str, tone: Tone, words: &str) {
        let words = self
            .screen
            .paint(tone, &fit(words, self.screen.width.saturating_sub(11)));
        let label = self.screen.paint(Tone::Quiet, &screen::padded(label, 11));
        // Writing to text cannot fail, here and below.
        let _ = writeln!(self.text, "{label}{words}");
    }

    /// A line with its time.
    fn head(&mut self, entry: &Entry, tone: Tone, words: &str, aside: &str) {
        let room = self.screen.width.saturating_sub(TIME);
        let aside = screen::line(aside);
        // What happened has the first right to the room, and half of it in any case.
        let words = fit(words, room.saturating_sub(screen::columns(&aside) + 2).max(room / 2));
        let aside = fit(&aside, room.saturating_sub(screen::columns(&words) + 2));
        let time = self
            .screen
            .paint(Tone::Quiet, &screen::padded(&screen::clock_time(entry.at), TIME));
        let gap = if aside.is_empty() { "" } else { "  " };
        let (words, aside) = (self.screen.paint(tone, &words), self.screen.paint(Tone::Quiet, &aside));
        let _ = writeln!(self.text, "{time}{words}{gap}{aside}");
    }

    fn body(&mut self, tone: Tone, lines: &[String], more: u64) {
        let indent = " ".repeat(TIME + 2);
        let room = self.screen.width.saturating_sub(TIME + 2);
        for line in lines.iter().take(LINES) {
            let _ = writeln!(self.text, "{indent}{}", self.screen.paint(tone, &fit(line, room)));
        }
        let more = more + lines.len().saturating_sub(LINES) as u64;
        if more > 0 {
            let words = format!("… {}", screen::counted(more, "more line"));
            let _ = writeln!(self.text, "{indent}{}", self.screen.paint(Tone::Quiet, &words));
        }
    }

    /// What somebody said, wrapped.
    fn said(&mut self, tone: Tone, text: &str) {
        let lines = screen::wrapped(text, self.screen.width.saturating_sub(TIME + 2));
        self.body(tone, &lines, 0);
    }

    fn entry(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Said { source, text } => {
                let who = match source {
                    Source::User => "asked",
                    Source::Agent => "agent",
                    Source::System => "host",
                };
                self.head(entry, Tone::Strong, who, "");
                self.said(Tone::Strong, text);
            }
            Event::Admitted(admission) => {
                let access = admission
                    .get("access")
                    .and_then(|access| access.as_str())
                    .unwrap_or_default();
                self.head(entry, Tone::Good, "admitted", access);
            }
            Event::Asked(asked) => self.asked(entry, asked),
            Event::Command(command) => self.command(entry, command),
            Event::Read(read) => {
                let found = read.found.as_deref().unwrap_or("no result: what was read is not known");
                self.head(entry, Tone::Strong, &format!("read {}", read.path), found);
            }
            Event::Other { kind, result, .. } => {
                let came = if result.is_some() {
                    ""
                } else {
                    "no result: what became of it is not known"
                };
                self.head(entry, Tone::Strong, kind, came);
            }
            Event::Switched(switch) => {
                let words = format!("route switched: {} to {}", switch.from, switch.to);
                self.head(entry, Tone::Busy, &words, &switch.refusal);
            }
            Event::Noted { name, message, content } => {
                let words = if message.is_empty() { name } else { message };
                let aside = content
                    .get("reason")
                    .and_then(|reason| reason.as_str())
                    .unwrap_or_default();
                self.head(entry, Tone::Quiet, words, aside);
            }
            Event::Ended(disposition) => {
                self.head(entry, Tone::Strong, "ended", &disposition.ending);
                self.said(Tone::Strong, &disposition.summary);
                if let Some(fault) = &disposition.fault {
                    self.said(Tone::Bad, fault);
                }
            }
        }
    }

    fn asked(&mut self, entry: &Entry, asked: &Asked) {
        let number = asked.number.map_or(String::new(), |number| format!("step {number}: "));
        let model = asked.model.as_deref().unwrap_or("the model");
        let took = asked.milliseconds.map_or("no result".to_owned(), screen::duration);
        let aside = format!("{}, {took}", token_words(asked.tokens));
        self.head(entry, Tone::Strong, &format!("{number}{model}"), &aside);
        if let Some(failure) = &asked.failure {
            self.said(Tone::Bad, failure);
        }
        match &asked.action {
            Some(action) => {
                self.said(Tone::Quiet, &action.rationale);
                self.said(Tone::Strong, &action.reply);
            }
            None => self.said(Tone::Quiet, &asked.text),
        }
    }

    fn command(&mut self, entry: &Entry, command: &Command) {
        let script = screen::lines(command.script.as_bytes());
        let end = match (&command.end, command.left_out) {
            (_, true) => "left out: one before it failed".to_owned(),
            (None, false) => "no result: what became of it is not known".to_owned(),
            (Some(end), false) => end.clone(),
        };
        let took = command
            .milliseconds
            .map_or(String::new(), |took| format!(", {}", screen::duration(took)));
        let tone = if command.end.is_none() || command.failed() {
            Tone::Bad
        } else {
            Tone::Good
        };
        let first = script.first().map_or("", String::as_str);
        self.head(entry, tone, &format!("$ {first}"), &format!("{end}{took}"));
        let script = script.iter().skip(1).map(|line| format!("> {line}"));
        self.body(Tone::Strong, &script.collect::<Vec<_>>(), 0);
        for output in [&command.stdout, &command.stderr] {
            self.output(output);
        }
        if let Some(note) = &command.note {
            self.said(Tone::Busy, note);
        }
    }

    /// The first lines and the last ones: what a command found is at either end.
    fn output(&mut self, output: &Output) {
        let (head, between, tail) = output.lines();
        if between == 0 && head.len() <= LINES {
            self.body(Tone::Quiet, &head, 0);
            return;
        }
        let last = if between == 0 { &head } else { &tail };
        let missing = match between {
            0 => screen::counted((head.len() - LINES) as u64, "more line"),
            _ => format!("{} in all", screen::size(output.bytes())),
        };
        self.body(Tone::Quiet, head.get(..LINES / 2).unwrap_or(&head), 0);
        self.body(Tone::Quiet, &[format!("… {missing}")], 0);
        let end = last.len().saturating_sub(LINES / 2);
        self.body(Tone::Quiet, last.get(end..).unwrap_or_default(), 0);
    }

    fn ending(&mut self, view: &View) {
        let evidence = &view.evidence;
        let result = view.task.run.as_ref().and_then(|run| run.result.as_ref());
        let cost = result.map_or(String::new(), |result| {
            format!(", cost {}", screen::cost(result_cost(result)))
        });
        let total = screen::counted(evidence.total_steps, "step");
        let shown = screen::count(evidence.steps.len() as u64);
        let words = fit(&format!("{shown} of {total} shown{cost}."), self.screen.width);
        let _ = writeln!(self.text, "\n{words}");
        if let (true, Some(next)) = (evidence.more_available, &evidence.next) {
            // Never cut: it is there to be copied.
            let task = &view.task.task_id;
            let _ = writeln!(self.text, "More: coder task view {task} --cursor '{next}'");
        }
    }
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
