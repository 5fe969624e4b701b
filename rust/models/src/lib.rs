//! Clients that answer prompts: a recorded conversation, and any endpoint that speaks OpenAI's Chat Completions or
//! Responses.
//!
//! A [`Client`] takes one [`coder_agent::GenerationRequest`] and reports every request it sends to an [`Attempts`] keeper:
//! once *before* sending, so that a durable intent can be written first (if that fails, nothing is sent), and once after,
//! with what came back, before anything acts on it. [`Recorded`] joins a client, a keeper and a stop signal into the
//! loop's [`coder_agent::Generate`]; a host with several routes calls [`Client::call`] itself.
//!
//! Nothing here reads the environment, a configuration file or the machine's clock, chooses a route, or prices tokens.
//! A [`Secret`] never shows in `Debug`, in an error or in a record, also when a server echoes it.

mod attempts;
mod chat;
mod client;
mod endpoint;
mod error;
mod exchange;
mod openai;
mod received;
mod refusal;
mod responses;
mod script;
mod scripted;
mod secret;

pub use attempts::{AttemptError, AttemptErrorKind, AttemptKind, AttemptRequest, AttemptResponse, Attempts};
pub use client::{Client, Recorded};
pub use endpoint::Endpoint;
pub use error::Error;
pub use openai::{Effort, OpenAi, OpenAiConfig, Protocol, ProxyUse, RESPONSE_BYTES, Timeouts};
pub use script::{Expectation, SCRIPT_SCHEMA, Script, ScriptFailure, ScriptReply, ScriptTurn, ScriptUsage};
pub use scripted::{SCRIPT_ENDPOINT, Scripted};
pub use secret::Secret;
