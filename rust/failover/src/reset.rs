//! When a limit is lifted, read from what a provider sent, with where it was read. Of the ways to say it, a structured field
//! counts before a header, and a header before words. A time without a zone is none, one that is past is none, and one more
//! than a year away is nonsense; what nobody said is never made up here.

use crate::message;
use coder_digest::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::str::FromStr as _;

/// A reset further away than this is taken for nonsense, in seconds: a year.
const FARTHEST: i64 = 366 * 24 * 3600;
/// Numbers above this are milliseconds; as seconds they would lie beyond the year 5000.
const MILLISECONDS_ABOVE: f64 = 1e11;

/// Where a time was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case", deny_unknown_fields)]
pub enum ResetSource {
    /// A structured field of the refusal.
    Field {
        /// Its name.
        name: String,
    },
    /// A header of the response.
    Header {
        /// Its name.
        name: String,
    },
    /// The refusal's words, which name the zone.
    Message {
        /// The zone.
        zone: String,
    },
    /// What the provider last said of its windows, when the refusal itself said nothing.
    UsageReading {
        /// The window that is at its limit.
        window: String,
    },
    /// Nobody said it: thirty minutes from the refusal.
    Assumed,
}

/// A stated reset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// When, in Unix seconds, rounded up.
    pub at: i64,
    /// Where it was read.
    pub from: ResetSource,
}

impl Reset {
    /// Reads it from a refusal: the fields of `error`, then headers, then the words of its message.
    pub fn read<'h>(
        error: &Value,
        header: &dyn Fn(&str) -> Option<&'h str>,
        message: &str,
        now: Timestamp,
    ) -> Option<Self> {
        Self::from_fields(error, now)
            .or_else(|| Self::from_headers(header, now))
            .or_else(|| Self::from_message(message, now))
    }

    /// Reads it from the fields of an object: a point in time before a wait.
    pub fn from_fields(error: &Value, now: Timestamp) -> Option<Self> {
        const POINTS: [&str; 3] = ["resets_at", "resetsAt", "reset_at"];
        const WAITS: [&str; 4] = [
            "resets_in_seconds",
            "retry_after",
            "retry_after_seconds",
            "reset_after_seconds",
        ];
        let field = |name: &&str, at| Self {
            at,
            from: ResetSource::Field {
                name: (*name).to_owned(),
            },
        };
        let point = |name: &&str| {
            let time = match error.get(*name)? {
                Value::Number(number) => epoch(number.as_f64()?),
                Value::String(text) => point_in_time(text)?,
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            };
            Some(field(name, ahead(time, now)?))
        };
        let wait = |name: &&str| Some(field(name, ahead(seconds(now) + error.get(*name)?.as_f64()?, now)?));
        POINTS.iter().find_map(point).or_else(|| WAITS.iter().find_map(wait))
    }

    /// Reads it from headers: `retry-after-ms`, `retry-after` as seconds or a date, and of the `x-ratelimit-reset-*` whose
    /// limit is used up the one that is lifted last.
    pub fn from_headers<'h>(header: &dyn Fn(&str) -> Option<&'h str>, now: Timestamp) -> Option<Self> {
        let found = |name: &str, at| Self {
            at,
            from: ResetSource::Header { name: name.to_owned() },
        };
        let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
        let milliseconds = || ahead(seconds(now) + number("retry-after-ms")? / 1000.0, now);
        let wait = || ahead(seconds(now) + number("retry-after")?, now);
        let date = || ahead(http_date(header("retry-after")?)?, now);
        let windows = || {
            ["requests", "tokens", "input-tokens", "output-tokens"]
                .iter()
                .flat_map(|window| ["x-ratelimit", "anthropic-ratelimit"].map(|prefix| (prefix, window)))
                .filter_map(|(prefix, window)| {
                    // The two families order their words differently.
                    let (remaining, reset) = match prefix {
                        "x-ratelimit" => (
                            format!("{prefix}-remaining-{window}"),
                            format!("{prefix}-reset-{window}"),
                        ),
                        _ => (
                            format!("{prefix}-{window}-remaining"),
                            format!("{prefix}-{window}-reset"),
                        ),
                    };
                    (header(&remaining)?.trim() == "0").then_some(())?;
                    let text = header(&reset)?.trim();
                    let time = duration(text).map(|wait| seconds(now) + wait);
                    Some(found(&reset, ahead(time.or_else(|| point_in_time(text))?, now)?))
                })
                .max_by_key(|reset| reset.at)
        };
        milliseconds()
            .map(|at| found("retry-after-ms", at))
            .or_else(|| wait().or_else(date).map(|at| found("retry-after", at)))
            .or_else(windows)
    }

    /// Reads it from words such as `resets 4am (Europe/Paris)`; a time without a zone says no exact time.
    pub fn from_message(words: &str, now: Timestamp) -> Option<Self> {
        let (time, zone) = message::reset(words, now)?;
        let at = ahead(time as f64, now)?;
        Some(Self {
            at,
            from: ResetSource::Message { zone },
        })
    }
}

/// A point in time as text: RFC 3339 with its zone, an HTTP date, or Unix seconds or milliseconds in digits.
fn point_in_time(text: &str) -> Option<f64> {
    let text = text.trim();
    Timestamp::from_str(text)
        .ok()
        .map(|time| time.0 as f64 / 1000.0)
        .or_else(|| http_date(text))
        .or_else(|| text.parse::<f64>().ok().map(epoch))
}

fn http_date(text: &str) -> Option<f64> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(date.timestamp().as_second() as f64)
}

fn epoch(number: f64) -> f64 {
    match number > MILLISECONDS_ABOVE {
        true => number / 1000.0,
        false => number,
    }
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

/// A time in whole seconds, rounded up so that nobody comes too early, unless it is past or absurdly far.
fn ahead(time: f64, now: Timestamp) -> Option<i64> {
    let now = seconds(now);
    (time.is_finite() && time > now && time <= now + FARTHEST as f64).then(|| time.ceil() as i64)
}

#[cfg(test)]
#[path = "reset_tests.rs"]
mod tests;
