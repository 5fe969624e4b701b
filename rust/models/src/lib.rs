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
//!
//! ```
//! use coder_agent::{GenerationRequest, HostFault, action_schema};
//! use coder_digest::ModelName;
//! use coder_models::{AttemptRequest, AttemptResponse, Attempts, Client as _, Script, Scripted};
//!
//! struct Print;
//! impl Attempts for Print {
//!     fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
//!         println!("{} {}", request.kind.as_str(), request.body_digest);
//!         Ok(())
//!     }
//!     fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
//!         println!("{}", response.text);
//!         Ok(())
//!     }
//! }
//!
//! let script = Script::parse(
//!     br#"{"schema": "openagents.microcoder.script.v1", "turns": [{"expect": [{"step": 1}], "reply": "hello"}]}"#,
//! )?;
//! let mut client = Scripted::new(script, ModelName::new("recorded").unwrap());
//! let request = GenerationRequest { step: 1, system: "", prompt: "hi", previous_bytes: 0, schema: action_schema() };
//! assert_eq!(client.call(&request, &mut Print, &|| false).reply.as_deref(), Ok("hello"));
//! # Ok::<(), coder_models::Error>(())
//! ```

mod anthropic;
mod attempts;
mod bounded;
mod chat;
mod claude;
mod client;
mod codex;
mod config;
mod dialect;
mod endpoint;
mod error;
mod exchange;
mod http;
mod jev;
mod login;
mod messages;
mod openai;
mod prices;
mod received;
mod refusal;
mod responses;
mod script;
mod scripted;
mod secret;
mod transport;
mod whole_lines;

pub use anthropic::Anthropic;
pub use attempts::{
    AttemptError, AttemptErrorKind, AttemptKind, AttemptRequest, AttemptResponse, Attempts, PromptForm,
};
pub use claude::{Claude, locate_claude};
pub use client::{Client, Recorded};
pub use codex::Codex;
pub use config::{
    AnthropicConfig, ClaudeConfig, CodexConfig, Effort, HttpSettings, OpenAiConfig, Protocol, ProxyUse, RESPONSE_BYTES,
    Timeouts,
};
pub use endpoint::Endpoint;
pub use error::Error;
pub use jev::{Answers, Decision, DecisionFailure, Jev, JevConfig};
pub use login::{codex_login, codex_login_path, login_fingerprint};
pub use openai::OpenAi;
pub use script::{Expectation, SCRIPT_SCHEMA, Script, ScriptFailure, ScriptReply, ScriptTurn, ScriptUsage};
pub use scripted::{SCRIPT_ENDPOINT, Scripted};
pub use secret::Secret;
