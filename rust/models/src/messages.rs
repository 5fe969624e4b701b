//! Anthropic's Messages protocol: its body with cache marks, its typed events, its whole response. Knows nothing of HTTP.
//!
//! The prompt is sent as growing pieces with one mark on the last, so that each request reads from the cache what the one
//! before wrote there.

use crate::attempts::AttemptErrorKind;
use crate::bounded::{Bounded, REFUSAL_BYTES, TEXT_BYTES};
use crate::dialect::Reader;
use crate::received::{End, Received, count, counted};
use crate::refusal::{Failing, shorten, stream_error};
use coder_agent::{GenerationRequest, Tokens};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Below the endpoint.
pub(crate) const PATH: &str = "v1/messages";
/// Between two pieces of the prompt.
pub(crate) const BETWEEN: &str = r#""},{"type":"text","text":""#;
/// The most tokens of a reply: what every current model allows.
const REPLY_TOKENS: u32 = 32_000;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Output<'a>>,
    system: [Block<'a>; 1],
    messages: [Message<'a>; 1],
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
struct Mark {
    r#type: &'static str,
}

const MARK: Mark = Mark { r#type: "ephemeral" };

/// The blocks of a prompt in pieces, the last one marked.
fn blocks<'a>(pieces: &[&'a str]) -> Vec<Block<'a>> {
    let last = pieces.len().saturating_sub(1);
    let block = |(place, text): (usize, &&'a str)| Block {
        r#type: "text",
        text,
        cache_control: (place == last).then_some(MARK),
    };
    pieces.iter().enumerate().map(block).collect()
}

/// The body. `schema` is left out where the server refuses it.
pub(crate) fn body(
    request: &GenerationRequest<'_>,
    model: &str,
    effort: Option<&str>,
    schema: Option<&RawValue>,
    pieces: &[&str],
) -> Result<String, serde_json::Error> {
    let output = (effort.is_some() || schema.is_some()).then(|| Output {
        effort,
        format: schema.map(|schema| Format {
            r#type: "json_schema",
            schema,
        }),
    });
    serde_json::to_string(&Body {
        model,
        max_tokens: REPLY_TOKENS,
        stream: true,
        output_config: output,
        system: [Block {
            r#type: "text",
            text: request.system,
            cache_control: None,
        }],
        messages: [Message {
            role: "user",
            content: blocks(pieces),
        }],
    })
}

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Messages {
    thinking: Bounded,
    stop: Option<String>,
    declined: Bounded,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            thinking: Bounded::new(TEXT_BYTES),
            stop: None,
            declined: Bounded::new(REFUSAL_BYTES),
        }
    }
}

impl Messages {
    fn describe(&self, message: &Value, admitted: &str, received: &mut Received) {
        received.name_model(message.get("model").and_then(Value::as_str), admitted);
        received.identify(message.get("id").and_then(Value::as_str));
    }

    /// Of a prompt only the part outside the cache is counted as input here; the sum is what other providers call so.
    fn prompt_tokens(usage: &Value, received: &mut Received) {
        let Some(fresh) = count(usage, "/input_tokens") else {
            return;
        };
        let written = count(usage, "/cache_creation_input_tokens");
        let cached = count(usage, "/cache_read_input_tokens");
        let all = fresh
            .saturating_add(written.unwrap_or(0))
            .saturating_add(cached.unwrap_or(0));
        received.tokens.input = Some(all);
        received.tokens.cached = cached;
        received.cache_written = written;
    }

    fn stop(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.stop = Some(shorten(reason));
        }
    }
}

impl Reader for Messages {
    fn event(&mut self, data: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        let event = match serde_json::from_str::<Value>(data) {
            Ok(event) => event,
            Err(error) => {
                let message = format!("an event of the stream is no JSON: {error}");
                return received.fail_with(AttemptErrorKind::Malformed, message);
            }
        };
        let words = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match words("/type") {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.describe(message, admitted, received);
                // The reply's own count at this point is not yet one.
                Self::prompt_tokens(message.get("usage").unwrap_or(&Value::Null), received);
            }
            "content_block_start" => {
                received.say(words("/content_block/text"));
                received.fit(self.thinking.push(words("/content_block/thinking")));
            }
            "content_block_delta" => match words("/delta/type") {
                "text_delta" => received.say(words("/delta/text")),
                "thinking_delta" => received.fit(self.thinking.push(words("/delta/thinking"))),
                _ => {}
            },
            "message_delta" => {
                self.stop(event.pointer("/delta/stop_reason").and_then(Value::as_str));
                if let Some(usage) = event.get("usage") {
                    Self::prompt_tokens(usage, received);
                    // The stream's counts are cumulative: the last one is the reply's.
                    received.tokens.output = count(usage, "/output_tokens");
                }
            }
            "message_stop" => received.end = End::Complete,
            "error" => received.fail(stream_error(event.get("error").unwrap_or(&event), failing)),
            _ => {}
        }
    }

    fn whole(&mut self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            received.fail(stream_error(error, failing));
            return;
        }
        self.describe(response, admitted, received);
        let Some(content) = response.get("content").and_then(Value::as_array) else {
            received.fail_with(AttemptErrorKind::Malformed, "the response has no content");
            return;
        };
        for block in content {
            let words = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
            match words("type") {
                "text" => received.say(words("text")),
                "thinking" => received.fit(self.thinking.push(words("thinking"))),
                _ => {}
            }
        }
        self.stop(response.get("stop_reason").and_then(Value::as_str));
        if let Some(usage) = response.get("usage") {
            Self::prompt_tokens(usage, received);
            received.tokens.output = count(usage, "/output_tokens");
        }
        received.end = End::Complete;
    }

    fn finish(self: Box<Self>, received: &mut Received) {
        let mut content = Vec::new();
        if !self.thinking.as_str().is_empty() {
            content.push(json!({ "type": "thinking", "thinking": self.thinking.as_str() }));
        }
        if !received.text.as_str().is_empty() {
            content.push(json!({ "type": "text", "text": received.text.as_str() }));
        }
        if !content.is_empty() || self.stop.is_some() {
            received.keep(json!({
                "type": "message", "role": "assistant", "content": content, "stop_reason": self.stop,
            }));
        }
        received.tokens = match counted(received.tokens) {
            Tokens::UNKNOWN => Tokens::UNKNOWN,
            tokens => tokens,
        };
        match self.stop.as_deref() {
            Some(reason @ ("max_tokens" | "model_context_window_exceeded" | "pause_turn")) => received.fail_with(
                AttemptErrorKind::Incomplete,
                format!("the server ended the reply early: {reason}"),
            ),
            Some("refusal") => {
                let mut declined = self.declined;
                received.fit(declined.push(received.text.as_str()));
                let message = format!("the model declined: {}", shorten(declined.as_str()));
                received.fail_with(AttemptErrorKind::Declined, message);
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
