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

/// A provider's refusal because of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityRefusal {
    /// Which kind of limit.
    pub kind: CapacityKind,
    /// When it is lifted, in Unix seconds, if the provider said so.
    pub resets_at: Option<i64>,
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

/// Answers prompts.
pub trait Generate {
    /// Answers one prompt; returns when the reply is whole, failed, or the run was stopped.
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated;
}
