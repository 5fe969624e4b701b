//! The Responses protocol: its body, its typed events, its whole response. Knows nothing of HTTP.

use crate::attempts::AttemptErrorKind;
use crate::bounded::{Bounded, REFUSAL_BYTES, TEXT_BYTES};
use crate::dialect::Reader;
use crate::received::{End, Received, count, counted};
use crate::refusal::{Failing, shorten, stream_error};
use coder_agent::{GenerationRequest, Tokens};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Below the endpoint.
pub(crate) const PATH: &str = "responses";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    instructions: &'a str,
    input: [Message<'a>; 1],
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
}

/// What only a ChatGPT login's endpoint is told: that reasoning is wanted in summary and, encrypted, whole; and where in its
/// cache the prompts of this run are.
pub(crate) struct Extras<'a> {
    pub(crate) prompt_cache_key: &'a str,
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Part<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The body. `schema` is left out where the server refuses it.
pub(crate) fn body(
    request: &GenerationRequest<'_>,
    model: &str,
    effort: Option<&str>,
    schema: Option<&RawValue>,
    extras: Option<Extras<'_>>,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Body {
        model,
        store: false,
        stream: true,
        include: extras.as_ref().map(|_| ["reasoning.encrypted_content"]),
        prompt_cache_key: extras.as_ref().map(|extras| extras.prompt_cache_key),
        reasoning: (effort.is_some() || extras.is_some()).then(|| Reasoning {
            summary: extras.as_ref().map(|_| "auto"),
            effort,
        }),
        text: schema.map(|schema| Text {
            format: Format {
                r#type: "json_schema",
                name: request.schema.name,
                strict: true,
                schema,
            },
        }),
        instructions: request.system,
        input: [Message {
            role: "user",
            content: [Part {
                r#type: "input_text",
                text: request.prompt,
            }],
        }],
    })
}

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Responses {
    /// Text seen in deltas only; what finished items say stands instead.
    deltas: Bounded,
}

impl Default for Responses {
    fn default() -> Self {
        Self {
            deltas: Bounded::new(TEXT_BYTES),
        }
    }
}

impl Responses {
    fn describe(&self, response: &Value, admitted: &str, received: &mut Received) {
        received.name_model(response.get("model").and_then(Value::as_str), admitted);
        received.identify(response.get("id").and_then(Value::as_str));
    }

    fn close(&self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        self.describe(response, admitted, received);
        if received.items.is_empty()
            && let Some(items) = response.get("output").and_then(Value::as_array)
        {
            items.iter().for_each(|item| received.keep(item.clone()));
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            received.tokens = counted(Tokens {
                input: count(usage, "/input_tokens"),
                cached: count(usage, "/input_tokens_details/cached_tokens"),
                output: count(usage, "/output_tokens"),
                reasoning: count(usage, "/output_tokens_details/reasoning_tokens"),
            });
        }
        match response.get("status").and_then(Value::as_str) {
            Some("completed") => received.end = End::Complete,
            Some("failed") => received.fail(stream_error(response.get("error").unwrap_or(&Value::Null), failing)),
            Some("incomplete") => {
                let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
                let message = format!(
                    "the server ended the reply early: {}",
                    shorten(reason.unwrap_or("no reason given"))
                );
                received.fail_with(AttemptErrorKind::Incomplete, message);
            }
            Some(status) => {
                received.fail_with(
                    AttemptErrorKind::Malformed,
                    format!("the response has the status {:?}", shorten(status)),
                );
            }
            None => match response.get("error").filter(|error| !error.is_null()) {
                Some(error) => received.fail(stream_error(error, failing)),
                // The event's own name said that it completed.
                None if response.get("output").is_some() || !received.items.is_empty() => received.end = End::Complete,
                None => received.fail_with(AttemptErrorKind::Malformed, "the response has no output"),
            },
        }
    }
}

impl Reader for Responses {
    fn event(&mut self, data: &str, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        // Some gateways end the stream in the other protocol's way; the end that counts came before.
        if data.trim() == "[DONE]" {
            return;
        }
        let event = match serde_json::from_str::<Value>(data) {
            Ok(event) => event,
            Err(error) => {
                let message = format!("an event of the stream is no JSON: {error}");
                return received.fail_with(AttemptErrorKind::Malformed, message);
            }
        };
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.created" | "response.in_progress" => {
                self.describe(event.get("response").unwrap_or(&Value::Null), admitted, received);
            }
            "response.output_text.delta" => {
                received.fit(
                    self.deltas
                        .push(event.get("delta").and_then(Value::as_str).unwrap_or_default()),
                );
            }
            "response.output_item.done" => {
                if let Some(item) = event.get("item") {
                    received.keep(item.clone());
                }
            }
            "response.completed" | "response.failed" | "response.incomplete" => {
                self.close(
                    event.get("response").unwrap_or(&Value::Null),
                    admitted,
                    failing,
                    received,
                );
            }
            "error" => received.fail(stream_error(event.get("error").unwrap_or(&event), failing)),
            _ => {}
        }
    }

    fn whole(&mut self, response: &Value, admitted: &str, failing: &Failing<'_>, received: &mut Received) {
        self.close(response, admitted, failing, received);
    }

    fn finish(self: Box<Self>, received: &mut Received) {
        let mut declined = Bounded::new(REFUSAL_BYTES);
        let mut text = Bounded::new(TEXT_BYTES);
        let mut fits = Ok(());
        for item in received.items.kept() {
            if item.get("type").and_then(Value::as_str) != Some("message") {
                continue;
            }
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                let words = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
                fits = fits.and(match words("type") {
                    "output_text" => text.push(words("text")),
                    "refusal" => declined.push(words("refusal")),
                    _ => Ok(()),
                });
            }
        }
        received.fit(fits);
        received.text = match text.as_str() {
            "" => self.deltas,
            _ => text,
        };
        if !declined.as_str().is_empty() {
            let message = format!("the model declined: {}", shorten(declined.as_str()));
            received.fail_with(AttemptErrorKind::Declined, message);
        }
    }
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
