//! The record of requests: what is said of each one before it is sent and after it is over. The keeper is the host's; it
//! never sees a header or a key.

use crate::secret::{Extent, Secret};
use coder_agent::{CapacityRefusal, Cost, HostFault, Tokens};
use coder_digest::Digest;
use coder_failover::UsageWindow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What sends the request; also the name of the effect in a host's evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// An HTTP request to an OpenAI-compatible endpoint.
    OpenaiRequest,
    /// An HTTP request to the Messages API.
    AnthropicRequest,
    /// An HTTP request with a ChatGPT login.
    CodexRequest,
    /// One call of the Claude Code program.
    ClaudeRequest,
    /// A turn of a recorded conversation.
    ScriptedRequest,
}

impl AttemptKind {
    /// The name, as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiRequest => "openai_request",
            Self::AnthropicRequest => "anthropic_request",
            Self::CodexRequest => "codex_request",
            Self::ClaudeRequest => "claude_request",
            Self::ScriptedRequest => "scripted_request",
        }
    }
}

/// How the prompt stands in a body: as one JSON string, or as several with the same text between any two, so that a
/// provider's cache can end where the last one ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptForm<'a> {
    /// Where the prompt is cut, as bytes from its beginning, ascending.
    pub cuts: &'a [usize],
    /// What stands between two pieces, inside the quotes of neither.
    pub between: &'a str,
}

impl PromptForm<'_> {
    /// One JSON string.
    pub const WHOLE: Self = Self { cuts: &[], between: "" };
}

/// A request about to be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptRequest<'a> {
    /// What sends it.
    pub kind: AttemptKind,
    /// The step it belongs to.
    pub step: u32,
    /// Which request of this generation it is, from 1.
    pub number: u32,
    /// Where it goes: the exact URL, or [`crate::SCRIPT_ENDPOINT`].
    pub endpoint: &'a str,
    /// The model asked for.
    pub model: &'a str,
    /// The reasoning effort asked for.
    pub effort: Option<&'a str>,
    /// The digest of `body`.
    pub body_digest: Digest,
    /// The exact body: JSON text.
    pub body: &'a str,
    /// The prompt inside the body.
    #[serde(skip)]
    pub prompt: &'a str,
    /// How many bytes of `prompt` the request of the step before had sent already; lets a keeper retain what is new.
    #[serde(skip)]
    pub previous_bytes: usize,
    /// How the prompt stands in the body.
    #[serde(skip)]
    pub form: PromptForm<'a>,
}

/// Why a request gave no usable reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptErrorKind {
    /// The run was stopped while it was in flight.
    Cancelled,
    /// There is no login that can be used; nothing was sent.
    Login,
    /// No connection.
    Connect,
    /// Nothing came for the idle time.
    IdleTimeout,
    /// It was not over in the total time.
    TotalTimeout,
    /// The connection broke, or the stream ended before its end mark.
    Broken,
    /// The response is larger than allowed; what fits is kept.
    TooLarge,
    /// The server redirects, which is not followed.
    Redirect,
    /// A usage or rate limit.
    Capacity,
    /// The server refuses the response format.
    FormatRefused,
    /// Another error status, or an error inside the stream.
    Status,
    /// The response is not what the protocol says.
    Malformed,
    /// The reply was cut by the server (a length limit, a content filter).
    Incomplete,
    /// The model declined.
    Declined,
    /// The response names another model than the one asked for, or none.
    WrongModel,
    /// The provider's program could not be started, or ended without a result.
    Program,
    /// A recorded conversation expected another request, has no more turns, or says the turn fails.
    Script,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// Which kind of fault.
    pub kind: AttemptErrorKind,
    /// One sentence, the server's own words shortened.
    pub message: String,
    /// The limit, for [`AttemptErrorKind::Capacity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRefusal>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptResponse {
    /// What sent it.
    pub kind: AttemptKind,
    /// The step it belongs to.
    pub step: u32,
    /// Which request of this generation it was, from 1.
    pub number: u32,
    /// The HTTP status, if one came.
    pub status: Option<u16>,
    /// The model, as the response names it.
    pub served_model: Option<String>,
    /// The response's own identifier.
    pub response_id: Option<String>,
    /// The reply's text, as far as it came.
    pub text: String,
    /// The native output items, parsed, as far as they came. Those that did not fit are told of by a last one:
    /// `{"type": "omitted", "items": …, "bytes": …, "digest": …}`.
    pub items: Vec<Value>,
    /// The tokens reported.
    pub tokens: Tokens,
    /// What it cost: an estimate by list prices where there are some, or what the provider's program reports.
    pub cost: Cost,
    /// The date of the list prices that `cost` was reckoned with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_prices: Option<String>,
    /// What the provider said of its windows beside the reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<UsageWindow>,
    /// How many bytes of body came.
    pub body_bytes: u64,
    /// What went wrong; `None` for a usable reply.
    pub error: Option<AttemptError>,
}

impl AttemptResponse {
    /// Clears the key from everything the server wrote. What belongs to a fault may have been cut in the middle of it.
    pub(crate) fn clear(&mut self, secret: &Secret) {
        let extent = match self.error {
            Some(_) => Extent::Cut,
            None => Extent::Whole,
        };
        for text in [&mut self.served_model, &mut self.response_id].into_iter().flatten() {
            secret.clear(text, Extent::Cut);
        }
        secret.clear(&mut self.text, extent);
        self.items.iter_mut().for_each(|item| secret.clear_value(item, extent));
        if let Some(error) = &mut self.error {
            secret.clear(&mut error.message, extent);
            if let Some(refusal) = &mut error.capacity {
                secret.clear(&mut refusal.message, extent);
            }
        }
    }
}

/// Keeps the record of requests.
pub trait Attempts {
    /// Retains the intent to send a request.
    ///
    /// # Errors
    /// [`HostFault`] when it is not retained; the request is then not sent.
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault>;

    /// Retains what came back.
    ///
    /// # Errors
    /// [`HostFault`] when it is not retained; the reply is then not acted on.
    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault>;
}
