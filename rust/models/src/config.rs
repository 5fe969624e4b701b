//! What an OpenAI-compatible client is made of: plain settings, each with its safe default. Where they come from is the
//! host's affair.

use crate::endpoint::Endpoint;
use crate::secret::Secret;
use coder_digest::ModelName;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The most bytes of one response that are read.
pub const RESPONSE_BYTES: u64 = 8 * 1024 * 1024;

/// Which of the two protocols an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// `POST …/chat/completions`.
    #[default]
    ChatCompletions,
    /// `POST …/responses`.
    Responses,
}

/// How much a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Xhigh,
}

impl Effort {
    /// The name, as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

/// The clocks that bound one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To a connection.
    pub connect: Duration,
    /// Silence: before the first byte, and between any two.
    pub idle: Duration,
    /// From sending to the end of the response.
    pub total: Duration,
}

impl Default for Timeouts {
    /// 10 seconds, 5 minutes (a model on this computer may read a long prompt before its first word), 30 minutes.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(1800),
        }
    }
}

/// Whether requests go through the proxy that environment variables name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProxyUse {
    /// Never: a variable must not send a prompt and a key elsewhere.
    #[default]
    Never,
    /// As the environment says.
    Environment,
}

/// What a client is made of.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The base address.
    pub endpoint: Endpoint,
    /// The model, exactly as the endpoint names it.
    pub model: ModelName,
    /// The protocol.
    pub protocol: Protocol,
    /// The reasoning effort; not mentioned when `None`.
    pub effort: Option<Effort>,
    /// The key; no authorization is sent when `None`.
    pub key: Option<Secret>,
    /// The clocks.
    pub timeouts: Timeouts,
    /// The most bytes of one response.
    pub response_bytes: u64,
    /// How long to wait before each further try after a failed connection, a broken response or a server error. A limit
    /// is never tried again here: that is the route's affair.
    pub retry_waits: Vec<Duration>,
    /// The proxy.
    pub proxy: ProxyUse,
}

impl OpenAiConfig {
    /// The usual settings: Chat Completions, no key, default clocks, 8 MiB, three more tries after 2, 4 and 8 seconds.
    pub fn new(endpoint: Endpoint, model: ModelName) -> Self {
        Self {
            endpoint,
            model,
            protocol: Protocol::default(),
            effort: None,
            key: None,
            timeouts: Timeouts::default(),
            response_bytes: RESPONSE_BYTES,
            retry_waits: [2, 4, 8].map(Duration::from_secs).to_vec(),
            proxy: ProxyUse::default(),
        }
    }
}
