//! How a run ended, in one value that carries the real reason, and what it came to. Endings of features this profile
//! does not have (spending limits, acceptance, gates) have no variant here.

use crate::action::Ask;
use crate::environment::HostFault;
use crate::usage::{Cost, Tokens};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a run ended, written `{"reason": …, "detail": …}` with the detail only where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", content = "detail", rename_all = "snake_case")]
pub enum Ending {
    /// The model said it is finished. Not a verification of anything.
    Finished,
    /// The model asked the user.
    Asked {
        /// What kind of question.
        ask: Ask,
    },
    /// Every admitted route is out of capacity.
    NoCapacity {
        /// The earliest reset known, in Unix seconds.
        resets_at: Option<i64>,
    },
    /// Too many unusable replies in a row; the text tells each one apart.
    BadReplies(String),
    /// Too many steps in a row did nothing.
    Idle,
    /// Too many steps in a row went in circles; the text says what the guard saw.
    Stuck(String),
    /// The step limit is reached.
    StepLimit,
    /// The time limit is reached.
    TimeLimit,
    /// The run was told to stop.
    Stopped,
    /// The host could not go on.
    HostFault(HostFault),
}

impl Ending {
    /// The stable name, as in the written form.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Asked { .. } => "asked",
            Self::NoCapacity { .. } => "no_capacity",
            Self::BadReplies(_) => "bad_replies",
            Self::Idle => "idle",
            Self::Stuck(_) => "stuck",
            Self::StepLimit => "step_limit",
            Self::TimeLimit => "time_limit",
            Self::Stopped => "stopped",
            Self::HostFault(_) => "host_fault",
        }
    }

    /// Whether the model brought its turn to an end by itself, by finishing or asking.
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Finished | Self::Asked { .. })
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => formatter.write_str("the model said it is finished"),
            Self::Asked { .. } => formatter.write_str("the model asked a question"),
            Self::NoCapacity { resets_at: None } => {
                formatter.write_str("no admitted route has capacity, and no provider said when it will")
            }
            Self::NoCapacity { resets_at: Some(time) } => {
                write!(formatter, "no admitted route has capacity before Unix time {time}")
            }
            Self::BadReplies(text) | Self::Stuck(text) => formatter.write_str(text),
            Self::Idle => {
                formatter.write_str("the model did nothing several steps in a row: no command, no new file, no end")
            }
            Self::StepLimit => formatter.write_str("the step limit is reached"),
            Self::TimeLimit => formatter.write_str("the time limit is reached"),
            Self::Stopped => formatter.write_str("the run was stopped"),
            Self::HostFault(fault) => write!(formatter, "the host could not go on: {fault}"),
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why it ended.
    pub ending: Ending,
    /// How many steps began.
    pub steps: u32,
    /// The tokens that were reported, over all generations.
    pub tokens: Tokens,
    /// How many requests may have used tokens that nobody reported; unless 0, `tokens` is a subtotal.
    pub uncounted_attempts: u32,
    /// Generations and judgments together.
    pub cost: Cost,
    /// The last thing the model said to the user.
    pub reply: Option<String>,
    /// One sentence for a person: the ending's, never the model's private notes.
    pub summary: String,
}
