//! What a server's error means: a limit with its reset, a response format it does not know, or something else. The body
//! is parsed whole before its words are cut for display; cut first, a long one would lose the reset that stands at its end.

use crate::attempts::{AttemptError, AttemptErrorKind};
use coder_agent::{CapacityKind, CapacityRefusal};
use coder_digest::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::str::FromStr as _;

/// How much of a server's own words an error repeats, in characters.
const MESSAGE_CHARACTERS: usize = 400;
/// A reset further away than this is taken for nonsense, in seconds: a year.
const FARTHEST_RESET: i64 = 366 * 24 * 3600;

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
                "rate_limit_exceeded" | "usage_limit_reached" | "insufficient_quota"
            )
        });
    if limited {
        let used_up = names.any(|name| name.contains("usage_limit") || name.contains("quota"));
        let resets_at = stated_reset(error, failing.now)
            .or_else(|| stated_reset(around, failing.now))
            .or_else(|| header_reset(failing.headers, failing.now));
        return AttemptError {
            kind: AttemptErrorKind::Capacity,
            message: message.clone(),
            capacity: Some(CapacityRefusal {
                kind: match used_up {
                    true => CapacityKind::UsageLimit,
                    false => CapacityKind::RateLimit,
                },
                resets_at,
                message,
            }),
        };
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

/// The reset that a structured field states, in Unix seconds.
fn stated_reset(error: &Value, now: Timestamp) -> Option<i64> {
    let at = error.get("resets_at").and_then(|value| match value {
        // Milliseconds where seconds would lie beyond the year 5000.
        Value::Number(number) => number
            .as_f64()
            .map(|time| if time > 1e11 { time / 1000.0 } else { time }),
        Value::String(text) => Timestamp::from_str(text).ok().map(|time| time.0 as f64 / 1000.0),
        _ => None,
    });
    let after = ["resets_in_seconds", "retry_after", "retry_after_seconds"]
        .iter()
        .find_map(|key| error.get(key).and_then(Value::as_f64));
    at.and_then(|time| sensible(time, now))
        .or_else(|| after.and_then(|wait| sensible(seconds(now) + wait, now)))
}

/// The reset that the headers state, in Unix seconds.
fn header_reset(headers: &HeaderMap, now: Timestamp) -> Option<i64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let milliseconds = text("retry-after-ms")
        .and_then(|text| text.parse::<f64>().ok())
        .map(|wait| wait / 1000.0);
    let wait = milliseconds.or_else(|| text("retry-after").and_then(|text| text.parse::<f64>().ok()));
    let date = || {
        let date = jiff::fmt::rfc2822::parse(text("retry-after")?).ok()?;
        sensible(date.timestamp().as_second() as f64, now)
    };
    // Of the limits that are used up, the one that is lifted last.
    let windows = || {
        ["requests", "tokens"]
            .iter()
            .filter(|window| text(&format!("x-ratelimit-remaining-{window}")) == Some("0"))
            .filter_map(|window| text(&format!("x-ratelimit-reset-{window}")).and_then(duration))
            .reduce(f64::max)
            .and_then(|wait| sensible(seconds(now) + wait, now))
    };
    wait.and_then(|wait| sensible(seconds(now) + wait, now))
        .or_else(date)
        .or_else(windows)
}

/// A time such as `6m0s`, `1.5s`, `120ms` or plain seconds, in seconds.
fn duration(text: &str) -> Option<f64> {
    if let Ok(plain) = text.parse::<f64>() {
        return Some(plain);
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, unit) = rest.split_at(digits);
        let letters = unit
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(unit.len());
        let (unit, after) = unit.split_at(letters);
        total += number.parse::<f64>().ok()?
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = after;
    }
    Some(total)
}

fn seconds(now: Timestamp) -> f64 {
    now.0 as f64 / 1000.0
}

/// A reset as whole seconds, rounded up, unless it is past or absurdly far.
fn sensible(time: f64, now: Timestamp) -> Option<i64> {
    let now = seconds(now);
    (time.is_finite() && time >= now && time <= now + FARTHEST_RESET as f64).then(|| time.ceil() as i64)
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
