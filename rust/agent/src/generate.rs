//! The seam to a model: one system text and one prompt in, one reply out. Routes, retries and records are the
//! implementor's; the loop only needs to know whether a reply came, and if not, whose fault that was.

use crate::action::ResponseSchema;
use crate::environment::HostFault;
use crate::usage::{Cost, Tokens};
use serde::{Deserialize, Serialize};

/// One call of the model.
#[derive(Debug, Clone, Copy)]
pub struct GenerationRequest<'a> {
    /// The step it belongs to, from 1.
    pub step: u32,
    /// The system text; the same for the whole run.
    pub system: &'a str,
    /// The prompt, whole.
    pub prompt: &'a str,
    /// How many bytes at the beginning of `prompt` are the whole previous prompt; 0 for the first and after a restart.
    /// Lets a recorder retain what is new instead of everything again, and a provider set its cache mark.
    pub previous_bytes: usize,
    /// The shape the reply must have.
    pub schema: ResponseSchema,
}

/// Which kind of limit a provider refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityKind {
    /// A plan's allowance is used up.
    UsageLimit,
    /// Too many requests or tokens at once.
    RateLimit,
}

/// Where a provider said when a limit is lifted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum ResetOrigin {
    /// In a structured field of its refusal.
    Field {
        /// Its name.
        name: String,
    },
    /// In a header of its response.
    Header {
        /// Its name.
        name: String,
    },
    /// In its words, which name the zone.
    Message {
        /// The zone.
        zone: String,
    },
}

/// A provider's refusal because of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityRefusal {
    /// Which kind of limit.
    pub kind: CapacityKind,
    /// When it is lifted, in Unix seconds, if the provider said so.
    pub resets_at: Option<i64>,
    /// Where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ResetOrigin>,
    /// The plan, as the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The length of the limit's window, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_minutes: Option<u64>,
    /// The provider's words, shortened.
    pub message: String,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum GenerationFailure {
    /// A usage or rate limit, on every route there is.
    Capacity(CapacityRefusal),
    /// The provider failed in another way; its words, shortened.
    Provider(String),
    /// The run was stopped while the call was in flight.
    Cancelled,
    /// The host could not go on: an intent or a response was not retained, or another model answered.
    HostFault(HostFault),
}

impl CapacityRefusal {
    /// A refusal that says no more than its kind and its words.
    pub fn without_reset(kind: CapacityKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            resets_at: None,
            origin: None,
            plan: None,
            window_minutes: None,
            message: message.into(),
        }
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The reply's text, or why there is none.
    pub reply: Result<String, GenerationFailure>,
    /// The model that served it, as it named itself.
    pub model: Option<String>,
    /// Tokens of all attempts.
    pub tokens: Tokens,
    /// Cost of all attempts.
    pub cost: Cost,
    /// How many requests were sent.
    pub attempts: u32,
    /// How many of them may have used tokens that nobody reported, so that `tokens` is a subtotal.
    pub uncounted_attempts: u32,
}

impl Generated {
    /// A call that has not sent anything and, if it never does, ends in `failure`: free, and of no known tokens.
    pub fn unsent(failure: GenerationFailure) -> Self {
        Self {
            reply: Err(failure),
            model: None,
            tokens: Tokens::UNKNOWN,
            cost: Cost::FREE,
            attempts: 0,
            uncounted_attempts: 0,
        }
    }
}

/// Answers prompts.
pub trait Generate {
    /// Answers one prompt; returns when the reply is whole, failed, or the run was stopped.
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated;
}
