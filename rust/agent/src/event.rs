//! What an observer hears. Events are records of what happened, each serialisable as it stands; they carry the short
//! projection of a command's output, since the full streams are in the host's own evidence.

use crate::action::Action;
use crate::ending::Outcome;
use crate::environment::{HostFault, RanEnd};
use crate::generate::GenerationFailure;
use crate::judge::Judgment;
use crate::usage::{Cost, Tokens};
use serde::Serialize;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Messages of the user were taken up.
    Messages {
        /// The step they are first shown in.
        step: u32,
        /// The messages, oldest first.
        messages: Vec<String>,
    },
    /// The state before a step was judged.
    Judged {
        /// The step.
        step: u32,
        /// The answers.
        judgment: Judgment,
    },
    /// The prompt restarted compacted.
    PromptRestarted {
        /// The step whose prompt it is.
        step: u32,
        /// Its size before, in bytes.
        bytes_before: usize,
        /// Its size now, in bytes.
        bytes_after: usize,
    },
    /// The model was called.
    Generated {
        /// The step.
        step: u32,
        /// The prompt's length in characters.
        prompt_chars: usize,
        /// What came of it.
        generated: Box<GeneratedRecord>,
    },
    /// The host told the model something about its last reply.
    Noted {
        /// The step whose reply it is about.
        step: u32,
        /// The note.
        note: String,
    },
    /// A command was run, or left out because an earlier one failed.
    Ran {
        /// The step.
        step: u32,
        /// The command.
        command: CommandRecord,
    },
    /// The run ended.
    Ended {
        /// What it came to.
        outcome: Outcome,
    },
}

/// A generation as an observer sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratedRecord {
    /// The action, if the reply was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Why there was no reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<GenerationFailure>,
    /// Why the reply was not an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// The model that served it.
    pub model: Option<String>,
    /// Tokens of all attempts.
    pub tokens: Tokens,
    /// Cost of all attempts.
    pub cost: Cost,
    /// How many requests were sent.
    pub attempts: u32,
    /// How many of them may have used tokens that nobody reported.
    pub uncounted_attempts: u32,
}

/// A command as an observer sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandRecord {
    /// Its place in the step, from 1.
    pub number: usize,
    /// The script.
    pub script: String,
    /// How it ended; `None` when it was left out.
    pub end: Option<RanEnd>,
    /// How long it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Its output as the prompt shows it.
    pub output: String,
    /// What the host said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Hears of everything that happens, in order.
pub trait Observe {
    /// Takes one event.
    ///
    /// # Errors
    /// [`HostFault`] when it could not be retained; the run then ends without another effect.
    fn event(&mut self, event: &Event) -> Result<(), HostFault>;

    /// Seconds since the run began.
    fn seconds(&self) -> f64;
}
