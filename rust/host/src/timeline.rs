//! What happened in a run, as a person would tell it: the steps of a trace folded into prompts, requests, commands, reads
//! and what the host noted. An effect's steps become one entry; one without a result stays open, because what became of
//! it is not known. Works on any part of a trace, and on traces of other hands: what it does not know it keeps as noted.

mod fold;
mod output;

pub(crate) use fold::Fold;
pub(crate) use output::Output;

use coder_agent::{Action, Cost};
use coder_digest::Timestamp;
use coder_trace::{Source, Tokens};
use serde_json::Value;

/// The story of a trace, or of a page of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    pub(crate) entries: Vec<Entry>,
    pub(crate) totals: Totals,
}

/// One thing that happened.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    /// The step it began with, from 1.
    pub(crate) step: u64,
    pub(crate) at: Timestamp,
    /// From an earlier turn.
    pub(crate) carried: bool,
    pub(crate) event: Event,
}

/// What happened.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// Somebody said something.
    Said { source: Source, text: String },
    /// The run was admitted, with all that the host wrote in that step.
    Admitted(Value),
    /// The model was asked.
    Asked(Box<Asked>),
    /// A command.
    Command(Box<Command>),
    /// A confined read.
    Read(Read),
    /// Another effect: its kind, arguments and result.
    Other {
        kind: String,
        arguments: Value,
        result: Option<Value>,
    },
    /// A route was left for another.
    Switched(Switch),
    /// The host noted something under this name.
    Noted {
        name: String,
        message: String,
        content: Value,
    },
    /// The run's end, in the host's words.
    Ended(Disposition),
}

/// One call of a model, with all its requests.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Asked {
    /// The loop's step, from 1.
    pub(crate) number: Option<u64>,
    /// The model that was asked, or once known the one that served.
    pub(crate) model: Option<String>,
    pub(crate) requests: Vec<Request>,
    /// What all requests used as far as it was reported.
    pub(crate) tokens: Tokens,
    /// Requests that may have used tokens nobody reported.
    pub(crate) uncounted: u64,
    /// The price, once the call ended.
    pub(crate) cost: Option<Cost>,
    pub(crate) milliseconds: Option<u64>,
    pub(crate) action: Option<Action>,
    /// Why there was no usable answer.
    pub(crate) failure: Option<String>,
    /// The answer as it came, where it was no action.
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
}

/// One request of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) kind: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// What it was answered with; absent while nothing is known.
    pub(crate) answer: Option<Answer>,
}

/// The answer to a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: Option<u64>,
    pub(crate) error: Option<String>,
}

/// One command.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Command {
    pub(crate) script: String,
    /// How it ended, in words; absent while nothing is known.
    pub(crate) end: Option<String>,
    /// Its exit status.
    pub(crate) exit: Option<i64>,
    pub(crate) milliseconds: Option<u64>,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    /// What held, as reported with the result.
    pub(crate) enforced: Option<Value>,
    /// Whether its processes were proved gone.
    pub(crate) clear: Option<bool>,
    pub(crate) memory: Option<u64>,
    /// What the host said about it.
    pub(crate) note: Option<String>,
    /// It was never begun, because one before it failed.
    pub(crate) left_out: bool,
}

impl Command {
    /// Whether it ran and did not end well.
    pub(crate) fn failed(&self) -> bool {
        self.end.is_some() && self.exit != Some(0)
    }
}

/// One confined read.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) path: String,
    /// What was found, in words; absent while nothing is known.
    pub(crate) found: Option<String>,
    pub(crate) content: Output,
}

/// A change of route.
#[derive(Debug, PartialEq)]
pub(crate) struct Switch {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) refusal: String,
    /// Whether the refusal was kept for the next run.
    pub(crate) book: Option<String>,
}

/// What the host says of the run as a whole.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Disposition {
    pub(crate) ending: String,
    pub(crate) summary: String,
    pub(crate) reply: Option<String>,
    /// Why the host could not go on.
    pub(crate) fault: Option<String>,
    /// What of the candidate could not be kept.
    pub(crate) candidate_faults: Vec<String>,
    /// Whatever else the host wrote in that step.
    pub(crate) more: serde_json::Map<String, Value>,
}

/// The sums of a story.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Calls of a model.
    pub(crate) calls: u64,
    /// Requests sent for them.
    pub(crate) requests: u64,
    /// Known part of what they used.
    pub(crate) tokens: Tokens,
    /// Requests of which nobody said what they used.
    pub(crate) uncounted: u64,
    pub(crate) commands: u64,
    pub(crate) failed_commands: u64,
    pub(crate) reads: u64,
    pub(crate) switches: u64,
    /// Effects that were announced and have no result.
    pub(crate) open: u64,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
