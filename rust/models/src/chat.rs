//! The Chat Completions protocol: its body, its stream of deltas, its whole response. Knows nothing of HTTP.

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
pub(crate) const PATH: &str = "chat/completions";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    stream: bool,
    stream_options: Options,
    messages: [Message<'a>; 2],
}

#[derive(Serialize)]
struct Options {
    include_usage: bool,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    json_schema: Schema<'a>,
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// The body. `schema` is left out where the server refuses it.
pub(crate) fn body(
    request: &GenerationRequest<'_>,
    model: &str,
    effort: Option<&str>,
    schema: Option<&RawValue>,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Body {
        model,
        reasoning_effort: effort,
        response_format: schema.map(|schema| Format {
            r#type: "json_schema",
            json_schema: Schema {
                name: request.schema.name,
                strict: true,
                schema,
            },
        }),
        stream: true,
        stream_options: Options { include_usage: true },
        messages: [
            Message {
                role: "system",
                content: request.system,
            },
            Message {
                role: "user",
                content: request.prompt,
            },
        ],
    })
}

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Chat {
    reasoning: Bounded,
    refusal: Bounded,
    finish: Option<String>,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            reasoning: Bounded::new(TEXT_BYTES),
            refusal: Bounded::new(REFUSAL_BYTES),
            finish: None,
        }
    }
}

impl Chat {
    fn take(&mut self, chunk: &Value, part: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            received.fail(stream_error(error, failing));
            return;
        }
        received.name_model(chunk.get("model").and_then(Value::as_str), admitted);
        received.identify(chunk.get("id").and_then(Value::as_str));
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            received.tokens = counted(Tokens {
                input: count(usage, "/prompt_tokens"),
                cached: count(usage, "/prompt_tokens_details/cached_tokens"),
                output: count(usage, "/completion_tokens"),
                reasoning: count(usage, "/completion_tokens_details/reasoning_tokens"),
            });
        }
        let Some(choice) = chunk.pointer("/choices/0") else {
            return;
        };
        // One reply is asked for; another choice in its stream is not part of it.
        if choice.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
            return;
        }
        let words = |name: &str| {
            choice
                .pointer(&format!("/{part}/{name}"))
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        received.say(words("content"));
        received.fit(self.refusal.push(words("refusal")));
        received.fit(self.reasoning.push(words("reasoning_content")));
        received.fit(self.reasoning.push(words("reasoning")));
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(shorten(finish));
        }
    }
}

impl Reader for Chat {
    fn event(&mut self, data: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        if data.trim() == "[DONE]" {
            received.end = End::Complete;
            return;
        }
        match serde_json::from_str::<Value>(data) {
            Ok(chunk) => self.take(&chunk, "delta", admitted, failing, received),
            Err(error) => received.fail_with(
                AttemptErrorKind::Malformed,
                format!("an event of the stream is no JSON: {error}"),
            ),
        }
    }

    fn whole(&mut self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        self.take(response, "message", admitted, failing, received);
        received.end = End::Complete;
        if response.pointer("/choices/0").is_none() {
            received.fail_with(AttemptErrorKind::Malformed, "the response has no choices");
        }
    }

    fn finish(self: Box<Self>, received: &mut Received) {
        let mut item = json!({ "type": "message", "role": "assistant", "content": received.text.as_str() });
        if let Some(fields) = item.as_object_mut() {
            for (name, text) in [
                ("reasoning", self.reasoning.as_str()),
                ("refusal", self.refusal.as_str()),
            ] {
                if !text.is_empty() {
                    fields.insert(name.to_owned(), text.into());
                }
            }
            if let Some(finish) = &self.finish {
                fields.insert("finish_reason".to_owned(), finish.as_str().into());
            }
        }
        if received.end == End::Complete || self.finish.is_some() || !received.text.as_str().is_empty() {
            received.keep(item);
        }
        match self.finish.as_deref() {
            Some("stop") => received.end = End::Complete,
            Some(reason @ ("length" | "content_filter")) => received.fail_with(
                AttemptErrorKind::Incomplete,
                format!("the server ended the reply early: {reason}"),
            ),
            // Names of other servers ("eos", "end_turn"); the reply itself shows whether it is whole.
            Some(_) => received.end = End::Complete,
            None => {}
        }
        if !self.refusal.as_str().is_empty() {
            let message = format!("the model declined: {}", shorten(self.refusal.as_str()));
            received.fail_with(AttemptErrorKind::Declined, message);
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
