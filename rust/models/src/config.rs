//! What a client is made of: plain settings, each with its safe default. Where they come from is the
//! host's affair.

use crate::endpoint::Endpoint;
use crate::secret::Secret;
use coder_digest::ModelName;
use coder_process::Cancel;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
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

/// How requests are sent, whatever the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The clocks.
    pub timeouts: Timeouts,
    /// The most bytes of one response.
    pub response_bytes: u64,
    /// How long to wait before each further try after what may pass by itself.
    pub retry_waits: Vec<Duration>,
    /// The proxy.
    pub proxy: ProxyUse,
}

impl Default for HttpSettings {
    /// The default clocks, 8 MiB, three more tries after 2, 4 and 8 seconds, no proxy.
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            response_bytes: RESPONSE_BYTES,
            retry_waits: [2, 4, 8].map(Duration::from_secs).to_vec(),
            proxy: ProxyUse::default(),
        }
    }
}

/// What a client of the Messages API is made of.
#[derive(Debug, Clone)]
pub struct AnthropicConfig {
    /// The base address.
    pub endpoint: Endpoint,
    /// The model, exactly as its responses name it.
    pub model: ModelName,
    /// The effort; not mentioned when `None`.
    pub effort: Option<Effort>,
    /// The key.
    pub key: Secret,
    /// How requests are sent.
    pub http: HttpSettings,
}

/// What a client with a ChatGPT login is made of.
#[derive(Debug, Clone)]
pub struct CodexConfig {
    /// The base address.
    pub endpoint: Endpoint,
    /// The model, exactly as its responses name it.
    pub model: ModelName,
    /// The effort; not mentioned when `None`.
    pub effort: Option<Effort>,
    /// The login file. It is read and never written.
    pub login: PathBuf,
    /// The name of the run, which is also the key of its prompts in the provider's cache.
    pub session: String,
    /// How requests are sent.
    pub http: HttpSettings,
}

impl CodexConfig {
    /// The usual settings: no effort; five minutes a request.
    pub fn new(endpoint: Endpoint, model: ModelName, login: PathBuf, session: String) -> Self {
        let mut http = HttpSettings::default();
        http.timeouts.total = Duration::from_secs(300);
        Self {
            endpoint,
            model,
            effort: None,
            login,
            session,
            http,
        }
    }
}

/// What a client through the Claude Code program is made of.
#[derive(Clone)]
pub struct ClaudeConfig {
    /// The program.
    pub program: PathBuf,
    /// The model, exactly as the program names it.
    pub model: ModelName,
    /// The effort; `low` when `None`.
    pub effort: Option<Effort>,
    /// The program's whole environment beside what this client sets: where its login is, and who the person is.
    pub variables: Vec<(OsString, OsString)>,
    /// Where it runs: a directory without a project, whose settings would be read.
    pub directory: PathBuf,
    /// How long it may be silent, and how long a call may take. Connecting is its own affair.
    pub timeouts: Timeouts,
    /// How long it may take to end once its result was read, before it is killed.
    pub grace: Duration,
    /// The most bytes it may print.
    pub response_bytes: u64,
    /// Stops a call.
    pub cancel: Cancel,
}

impl ClaudeConfig {
    /// The usual settings: half an hour a call, two seconds to end, 32 MiB of output, which tells each piece of a reply twice.
    pub fn new(program: PathBuf, model: ModelName, directory: PathBuf, cancel: Cancel) -> Self {
        Self {
            program,
            model,
            effort: None,
            variables: Vec::new(),
            directory,
            timeouts: Timeouts::default(),
            grace: Duration::from_secs(2),
            response_bytes: 4 * RESPONSE_BYTES,
            cancel,
        }
    }
}

impl fmt::Debug for ClaudeConfig {
    /// Leaves the values of the environment out: they may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClaudeConfig")
            .field("program", &self.program)
            .field("model", &self.model)
            .field("effort", &self.effort)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// What an OpenAI-compatible client is made of.
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
        let usual = HttpSettings::default();
        Self {
            endpoint,
            model,
            protocol: Protocol::default(),
            effort: None,
            key: None,
            timeouts: usual.timeouts,
            response_bytes: usual.response_bytes,
            retry_waits: usual.retry_waits,
            proxy: usual.proxy,
        }
    }

    pub(crate) fn http(&self) -> HttpSettings {
        HttpSettings {
            timeouts: self.timeouts,
            response_bytes: self.response_bytes,
            retry_waits: self.retry_waits.clone(),
            proxy: self.proxy,
        }
    }
}
