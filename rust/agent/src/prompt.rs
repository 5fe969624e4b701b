//! The prompt: a log that only grows at its end, so that a provider's prefix cache holds everything sent before. When it
//! passes its bound, or the environment's description changes, it restarts: the head again, old steps as one line each, the
//! last ones in full, the view whole. The user's messages survive every restart.

use crate::judge::{Judgment, QUESTIONS};
use crate::limits::Limits;
use crate::step::{Step, push_messages};
use crate::view::{Show, View};
use std::fmt::Write as _;

const LAYOUT: &str = "\
# How this page grows

For each step there is a part \"State before step N\" (files in view, judgments, messages from the user, notes from the host) \
and, once you have answered, a part \"Step N\" (your rationale, your commands, their output). New parts come at the end; \
nothing above changes. A file that has not changed since it was shown is only named. Answer for the last state on the page.

";

/// What the state before a step brings beside the files in view.
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub(crate) step: u32,
    pub(crate) judgment: &'a Judgment,
    pub(crate) messages: &'a [String],
    pub(crate) notes: &'a [String],
}

/// A restart, for the observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Restart {
    pub(crate) bytes_before: usize,
    pub(crate) bytes_after: usize,
}

/// The growing log.
#[derive(Debug)]
pub(crate) struct Prompt {
    task: String,
    description: String,
    text: String,
    characters: usize,
    /// How many bytes of `text` the last prompt had; 0 when there is none or the log restarted since.
    previous: usize,
    /// How many bytes of `text` are counted in `characters`.
    counted: usize,
}

impl Prompt {
    /// The log before the first step. `instructions` may be empty.
    pub(crate) fn new(task: &str, instructions: &str, description: &str) -> Self {
        let mut fixed = format!("# Task\n\n{}\n\n", task.trim_end());
        if !instructions.trim().is_empty() {
            let _ = writeln!(
                fixed,
                "# Instructions of the repository\n\n{}\n",
                instructions.trim_end()
            );
        }
        let mut prompt = Self {
            task: fixed,
            description: description.to_owned(),
            text: String::new(),
            characters: 0,
            previous: 0,
            counted: 0,
        };
        prompt.restart();
        prompt
    }

    /// The whole prompt.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How many characters it has.
    pub(crate) fn characters(&self) -> usize {
        self.characters
    }

    /// How many of its first bytes are the whole prompt of the step before.
    pub(crate) fn previous_bytes(&self) -> usize {
        self.previous
    }

    /// Adds the state before a step, restarting first where that is due. `earlier` are all finished steps.
    pub(crate) fn begin(
        &mut self,
        state: &State<'_>,
        description: &str,
        view: &mut View,
        earlier: &[Step],
        limits: &Limits,
    ) -> Option<Restart> {
        let bytes_before = self.text.len();
        let changed = description != self.description;
        if !changed {
            let last = self.counted;
            push_state(&mut self.text, state, view, Show::Changes);
            if self.text.len() <= limits.prompt_bytes || earlier.is_empty() {
                self.previous = last;
                self.count();
                return None;
            }
        }
        description.clone_into(&mut self.description);
        let mut rest = String::new();
        push_state(&mut rest, state, view, Show::Everything);
        self.compact(earlier, rest.len(), limits);
        self.text.push_str(&rest);
        self.previous = 0;
        self.count();
        Some(Restart {
            bytes_before,
            bytes_after: self.text.len(),
        })
    }

    /// Adds a finished step; the answer is its section, as it now stands at the end of the log.
    pub(crate) fn end(&mut self, step: &Step) -> &str {
        let start = self.text.len();
        step.push_section(&mut self.text);
        self.text.get(start..).unwrap_or_default()
    }

    fn restart(&mut self) {
        self.text.clear();
        self.characters = 0;
        self.counted = 0;
        self.text.push_str(&self.task);
        let _ = writeln!(self.text, "# Environment\n\n{}\n", self.description.trim_end());
        self.text.push_str(LAYOUT);
    }

    /// Counts the characters added since the last prompt: never the whole text again.
    fn count(&mut self) {
        self.characters += self.text.get(self.counted..).unwrap_or_default().chars().count();
        self.counted = self.text.len();
    }

    /// Restarts with as many of the last steps in full as leave room to grow; a log that is full again at the next step
    /// would lose the cache every time.
    fn compact(&mut self, earlier: &[Step], rest: usize, limits: &Limits) {
        self.restart();
        let room = (limits.prompt_bytes / 4 * 3).saturating_sub(self.text.len() + rest);
        let mut sections: Vec<String> = Vec::new();
        let mut size = 0;
        for step in earlier.iter().rev().take(limits.full_steps) {
            let mut section = String::new();
            step.push_messages(&mut section);
            step.push_section(&mut section);
            size += section.len();
            // The very last step is what the next action answers to: it stays whatever its size.
            if size > room && !sections.is_empty() {
                break;
            }
            sections.push(section);
        }
        let lines = earlier.get(..earlier.len() - sections.len()).unwrap_or_default();
        if !lines.is_empty() {
            self.text.push_str("# Earlier steps, shortened\n\n");
            for step in lines {
                step.push_messages(&mut self.text);
                step.push_line(&mut self.text);
            }
            self.text.push('\n');
        }
        for section in sections.iter().rev() {
            self.text.push_str(section);
        }
    }
}

fn push_state(text: &mut String, state: &State<'_>, view: &mut View, show: Show) {
    let _ = writeln!(text, "# State before step {}\n", state.step);
    view.show(text, state.step, show);
    text.push('\n');
    push_judgment(text, state.judgment);
    push_messages(text, state.messages);
    for note in state.notes {
        let _ = writeln!(text, "\nNote from the host: {}", note.trim_end());
    }
    text.push('\n');
}

fn push_judgment(text: &mut String, judgment: &Judgment) {
    let answers = [judgment.done, judgment.progress, judgment.repeating];
    if answers.iter().all(Option::is_none) {
        let _ = writeln!(
            text,
            "Judgments: none ({}).",
            judgment.note.as_deref().unwrap_or("the judge gave no answer")
        );
        return;
    }
    text.push_str("Judgments, as the probability of yes; evidence, not orders:\n");
    for (question, answer) in QUESTIONS.iter().zip(answers) {
        if let Some(probability) = answer {
            let _ = writeln!(text, "- {} {probability:.2}", question.text);
        }
    }
    if let Some(note) = &judgment.note {
        let _ = writeln!(text, "- Not answered in full: {note}");
    }
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
