//! What a server's error means: a limit with its reset, a response format it does not know, or something else. The body
//! is parsed whole before its words are cut for display; cut first, a long one would lose the reset that stands at its end.

use crate::attempts::{AttemptError, AttemptErrorKind};
use coder_agent::{CapacityKind, CapacityRefusal, ResetOrigin};
use coder_digest::Timestamp;
use coder_failover::{Reset, ResetSource};
use reqwest::header::HeaderMap;
use serde_json::Value;

/// How much of a server's own words an error repeats, in characters.
const MESSAGE_CHARACTERS: usize = 400;

/// What is needed to understand an error beside its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failing<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The response's headers.
    pub(crate) headers: &'a HeaderMap,
    /// When it came.
    pub(crate) now: Timestamp,
}

/// Reads the body of an error status.
pub(crate) fn status_error(body: &[u8], failing: &Failing<'_>) -> AttemptError {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => understand(
            value.get("error").filter(|error| !error.is_null()).unwrap_or(&value),
            &value,
            failing,
        ),
        Err(_) => {
            let words = coder_digest::display_bytes(body);
            understand(&Value::from(words.trim()), &Value::Null, failing)
        }
    }
}

/// Reads an error that came inside a stream that began well.
pub(crate) fn stream_error(error: &Value, failing: &Failing<'_>) -> AttemptError {
    understand(error, &Value::Null, failing)
}

fn understand(error: &Value, around: &Value, failing: &Failing<'_>) -> AttemptError {
    let name = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let words = error
        .as_str()
        .or_else(|| error.get("message").and_then(Value::as_str))
        .or_else(|| error.get("detail").and_then(Value::as_str))
        .unwrap_or_default();
    let code = error.get("code").and_then(Value::as_u64);
    // An event of the kind "error" is its own error object; its kind names no cause.
    let mut names = [name("type"), name("code")]
        .into_iter()
        .filter(|name| !name.is_empty() && *name != "error");
    let short = shorten(words);
    let mut message = match failing.status {
        200..=299 => "the server reports an error inside the response".to_owned(),
        status => format!("the server answered with HTTP status {status}"),
    };
    if let Some(name) = names.clone().next() {
        message.push_str(&format!(" ({})", shorten(name)));
    }
    if !short.is_empty() {
        message.push_str(": ");
        message.push_str(&short);
    }
    let limited = failing.status == 429
        || code == Some(429)
        || names.clone().any(|name| {
            matches!(
                name,
                "rate_limit_exceeded" | "rate_limit_error" | "usage_limit_reached" | "insufficient_quota"
            )
        });
    if limited {
        let used_up = names.any(|name| name.contains("usage_limit") || name.contains("quota"));
        let header = |name: &str| failing.headers.get(name).and_then(|value| value.to_str().ok());
        let reset = Reset::from_fields(error, failing.now)
            .or_else(|| Reset::from_fields(around, failing.now))
            .or_else(|| Reset::from_headers(&header, failing.now))
            .or_else(|| Reset::from_message(words, failing.now));
        let kind = match used_up {
            true => CapacityKind::UsageLimit,
            false => CapacityKind::RateLimit,
        };
        let mut refused = capacity(kind, reset, &message);
        if let Some(refusal) = &mut refused.capacity {
            refusal.plan = Some(shorten(name("plan_type"))).filter(|plan| !plan.is_empty());
            refusal.window_minutes = error.get("limit_window_minutes").and_then(Value::as_u64);
        }
        return refused;
    }
    let kind = match failing.status {
        400 | 404 | 415 | 422 | 500 | 501 if names_format(error) => AttemptErrorKind::FormatRefused,
        _ => AttemptErrorKind::Status,
    };
    AttemptError {
        kind,
        message,
        capacity: None,
    }
}

/// Whether an error is about the response format: by its parameter where it has one, by its words where it has none.
fn names_format(error: &Value) -> bool {
    const NAMES: [&str; 5] = [
        "response_format",
        "json_schema",
        "text.format",
        "structured output",
        "grammar",
    ];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_ascii_lowercase();
    let mentions = |text: String| NAMES.iter().any(|name| text.contains(name));
    mentions(text(error))
        || ["param", "code", "message", "detail"]
            .iter()
            .any(|key| mentions(error.get(key).map(text).unwrap_or_default()))
}

/// The beginning of a server's words, on one line.
pub(crate) fn shorten(words: &str) -> String {
    let mut short: String = words
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(MESSAGE_CHARACTERS)
        .collect();
    if words.chars().nth(MESSAGE_CHARACTERS).is_some() {
        short.push('…');
    }
    short.trim().to_owned()
}

/// Where a reset was read, as the loop's records have it. A client reads none of the other sources.
fn origin(from: ResetSource) -> Option<ResetOrigin> {
    match from {
        ResetSource::Field { name } => Some(ResetOrigin::Field { name }),
        ResetSource::Header { name } => Some(ResetOrigin::Header { name }),
        ResetSource::Message { zone } => Some(ResetOrigin::Message { zone }),
        ResetSource::UsageReading { .. } | ResetSource::Assumed => None,
    }
}

/// A refusal for a limit, with what is said of it.
pub(crate) fn capacity(kind: CapacityKind, reset: Option<Reset>, message: &str) -> AttemptError {
    AttemptError {
        kind: AttemptErrorKind::Capacity,
        message: message.to_owned(),
        capacity: Some(CapacityRefusal {
            resets_at: reset.as_ref().map(|reset| reset.at),
            origin: reset.and_then(|reset| origin(reset.from)),
            ..CapacityRefusal::without_reset(kind, message)
        }),
    }
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
