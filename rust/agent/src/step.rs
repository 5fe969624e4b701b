//! A finished step as the log keeps it: its section in full, and the one line that stands for it after a restart.

use crate::environment::RanEnd;
use crate::projection::{one_line, push_fenced};
use std::fmt::Write as _;

/// How much of a rationale stays in the one line, in characters.
const RATIONALE_CHARACTERS: usize = 120;
/// How much of a script stays in the one line, in characters.
const SCRIPT_CHARACTERS: usize = 80;

/// One command of a step, with what the prompt shows of it.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) script: String,
    /// `None`: left out.
    pub(crate) end: Option<RanEnd>,
    pub(crate) output: String,
    pub(crate) note: Option<String>,
}

/// What a step did.
#[derive(Debug)]
pub(crate) enum Deed {
    /// An action was taken.
    Action {
        reply: String,
        rationale: String,
        commands: Vec<Command>,
    },
    /// There was no usable reply; the text says what there was instead.
    NoAction(&'static str),
}

/// A finished step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) number: u32,
    /// The user's messages that its prompt brought.
    pub(crate) messages: Vec<String>,
    pub(crate) deed: Deed,
}

impl Step {
    /// Appends the whole section: what a prompt shows of it, and what a judge is shown.
    pub(crate) fn push_section(&self, text: &mut String) {
        let _ = writeln!(text, "# Step {}\n", self.number);
        self.push_deed(text);
    }

    /// Appends what was done.
    fn push_deed(&self, text: &mut String) {
        let (reply, rationale, commands) = match &self.deed {
            Deed::NoAction(instead) => {
                let _ = writeln!(text, "No action: {instead}.\n");
                return;
            }
            Deed::Action {
                reply,
                rationale,
                commands,
            } => (reply, rationale, commands),
        };
        if !rationale.trim().is_empty() {
            let _ = writeln!(text, "Rationale: {}\n", rationale.trim());
        }
        if !reply.trim().is_empty() {
            let _ = writeln!(text, "Reply to the user: {}\n", reply.trim());
        }
        for (index, command) in commands.iter().enumerate() {
            let number = index + 1;
            let _ = writeln!(text, "Command {number}:");
            push_fenced(text, "bash", &command.script);
            let Some(end) = command.end else {
                let _ = writeln!(text, "Command {number} was not run.\n");
                continue;
            };
            let _ = write!(text, "Command {number}: {end}");
            if command.output.is_empty() {
                text.push_str(", no output.\n");
            } else {
                text.push_str(", output:\n");
                push_fenced(text, "", &command.output);
            }
            if let Some(note) = &command.note {
                let _ = writeln!(text, "The host: {}", note.trim());
            }
            text.push('\n');
        }
        if commands.is_empty() {
            text.push_str("No command.\n\n");
        }
    }

    /// Appends the one line.
    pub(crate) fn push_line(&self, text: &mut String) {
        let _ = write!(text, "- Step {}: ", self.number);
        match &self.deed {
            Deed::NoAction(instead) => {
                let _ = write!(text, "no action: {instead}");
            }
            Deed::Action {
                rationale, commands, ..
            } => {
                text.push_str(&one_line(rationale, RATIONALE_CHARACTERS));
                for command in commands {
                    let script = one_line(&command.script, SCRIPT_CHARACTERS);
                    let _ = match command.end {
                        Some(end) => write!(text, "; `{script}` {end}"),
                        None => write!(text, "; `{script}` not run"),
                    };
                }
            }
        }
        text.push('\n');
    }

    /// Appends the user's messages that came with this step, for a log that no longer holds the step's own state.
    pub(crate) fn push_messages(&self, text: &mut String) {
        push_messages(text, &self.messages);
    }
}

/// Appends messages of the user, each fenced, or nothing.
pub(crate) fn push_messages(text: &mut String, messages: &[String]) {
    for message in messages {
        text.push_str("\nMessage from the user:\n");
        push_fenced(text, "", message);
    }
}
