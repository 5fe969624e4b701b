//! The format as a table: every object's fields, which are demanded, and what each may hold; and the walk that compares
//! a document with it. An absent and a `null` optional field are the same, as they are to Harbor.

use super::{Faults, Rule, below};
use coder_digest::Timestamp;
use serde_json::{Map, Value};

enum Kind {
    Text,
    Word(&'static [&'static str]),
    Timestamp,
    Truth,
    /// A whole number, zero or more.
    Count,
    /// Any whole number: token ids are names.
    Whole,
    /// A number, zero or more.
    Amount,
    /// Any number: a log probability is below zero.
    Number,
    Effort,
    Free,
    Object(&'static Shape),
    List(&'static Kind),
    /// A text or content parts.
    Content,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Demanded,
    Optional,
}

use Presence::{Demanded, Optional};

struct Field(&'static str, Presence, Kind);

struct Shape(&'static [Field]);

const VERSIONS: &[&str] = &[
    "ATIF-v1.0",
    "ATIF-v1.1",
    "ATIF-v1.2",
    "ATIF-v1.3",
    "ATIF-v1.4",
    "ATIF-v1.5",
    "ATIF-v1.6",
    "ATIF-v1.7",
    "ATIF-v1.8",
];
const MEDIA: &[&str] = &[
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
];

static TRAJECTORY: Shape = Shape(&[
    Field("schema_version", Demanded, Kind::Word(VERSIONS)),
    Field("session_id", Optional, Kind::Text),
    Field("trajectory_id", Optional, Kind::Text),
    Field("agent", Demanded, Kind::Object(&AGENT)),
    Field("steps", Demanded, Kind::List(&Kind::Object(&STEP))),
    Field("notes", Optional, Kind::Text),
    Field("final_metrics", Optional, Kind::Object(&FINAL_METRICS)),
    Field("continued_trajectory_ref", Optional, Kind::Text),
    Field("extra", Optional, Kind::Free),
    Field(
        "subagent_trajectories",
        Optional,
        Kind::List(&Kind::Object(&TRAJECTORY)),
    ),
]);

static AGENT: Shape = Shape(&[
    Field("name", Demanded, Kind::Text),
    Field("version", Demanded, Kind::Text),
    Field("model_name", Optional, Kind::Text),
    Field("tool_definitions", Optional, Kind::List(&Kind::Free)),
    Field("extra", Optional, Kind::Free),
]);

static STEP: Shape = Shape(&[
    Field("step_id", Demanded, Kind::Count),
    Field("timestamp", Optional, Kind::Timestamp),
    Field("source", Demanded, Kind::Word(&["system", "user", "agent"])),
    Field("model_name", Optional, Kind::Text),
    Field("reasoning_effort", Optional, Kind::Effort),
    Field("message", Demanded, Kind::Content),
    Field("reasoning_content", Optional, Kind::Text),
    Field("tool_calls", Optional, Kind::List(&Kind::Object(&TOOL_CALL))),
    Field("observation", Optional, Kind::Object(&OBSERVATION)),
    Field("metrics", Optional, Kind::Object(&METRICS)),
    Field("is_copied_context", Optional, Kind::Truth),
    Field("llm_call_count", Optional, Kind::Count),
    Field("extra", Optional, Kind::Free),
]);

static TOOL_CALL: Shape = Shape(&[
    Field("tool_call_id", Demanded, Kind::Text),
    Field("function_name", Demanded, Kind::Text),
    Field("arguments", Demanded, Kind::Free),
    Field("extra", Optional, Kind::Free),
]);

static OBSERVATION: Shape = Shape(&[Field("results", Demanded, Kind::List(&Kind::Object(&RESULT)))]);

static RESULT: Shape = Shape(&[
    Field("source_call_id", Optional, Kind::Text),
    Field("content", Optional, Kind::Content),
    Field(
        "subagent_trajectory_ref",
        Optional,
        Kind::List(&Kind::Object(&SUBAGENT)),
    ),
    Field("extra", Optional, Kind::Free),
]);

static SUBAGENT: Shape = Shape(&[
    Field("trajectory_id", Optional, Kind::Text),
    Field("session_id", Optional, Kind::Text),
    Field("trajectory_path", Optional, Kind::Text),
    Field("extra", Optional, Kind::Free),
]);

static METRICS: Shape = Shape(&[
    Field("prompt_tokens", Optional, Kind::Count),
    Field("completion_tokens", Optional, Kind::Count),
    Field("cached_tokens", Optional, Kind::Count),
    Field("cost_usd", Optional, Kind::Amount),
    Field("prompt_token_ids", Optional, Kind::List(&Kind::Whole)),
    Field("completion_token_ids", Optional, Kind::List(&Kind::Whole)),
    Field("logprobs", Optional, Kind::List(&Kind::Number)),
    Field("extra", Optional, Kind::Free),
]);

static FINAL_METRICS: Shape = Shape(&[
    Field("total_prompt_tokens", Optional, Kind::Count),
    Field("total_completion_tokens", Optional, Kind::Count),
    Field("total_cached_tokens", Optional, Kind::Count),
    Field("total_cost_usd", Optional, Kind::Amount),
    Field("total_steps", Optional, Kind::Count),
    Field("extra", Optional, Kind::Free),
]);

static CONTENT_PART: Shape = Shape(&[
    Field("type", Demanded, Kind::Word(&["text", "image", "audio"])),
    Field("text", Optional, Kind::Text),
    Field("source", Optional, Kind::Object(&MEDIA_SOURCE)),
]);

static MEDIA_SOURCE: Shape = Shape(&[
    Field("media_type", Demanded, Kind::Word(MEDIA)),
    Field("path", Demanded, Kind::Text),
    Field("duration_sec", Optional, Kind::Amount),
]);

pub(super) fn check(document: &Value, faults: &mut Faults) {
    Kind::Object(&TRAJECTORY).check(document, "", faults);
}

impl Shape {
    fn check(&self, object: &Map<String, Value>, pointer: &str, faults: &mut Faults) {
        for Field(name, presence, kind) in self.0 {
            match object.get(*name) {
                Some(Value::Null) | None if *presence == Optional => {}
                None => faults.add(
                    below(pointer, name),
                    Rule::MissingField,
                    format!("the field `{name}` is missing"),
                ),
                Some(value) => kind.check(value, &below(pointer, name), faults),
            }
        }
        for name in object.keys() {
            if !self.0.iter().any(|Field(known, _, _)| known == name) {
                let message = "the format has no such field; put it under `extra`";
                faults.add(below(pointer, name), Rule::UnknownField, message);
            }
        }
    }
}

impl Kind {
    fn check(&self, value: &Value, pointer: &str, faults: &mut Faults) {
        let expected = match (self, value) {
            (Self::Text | Self::Effort | Self::Content, Value::String(_))
            | (Self::Truth, Value::Bool(_))
            | (Self::Free, Value::Object(_))
            | (Self::Number | Self::Effort, Value::Number(_)) => return,
            (Self::Word(words), Value::String(word)) => {
                if !words.contains(&word.as_str()) {
                    faults.add(
                        pointer,
                        Rule::UnknownWord,
                        format!("one of {} is expected", words.join(", ")),
                    );
                }
                return;
            }
            (Self::Timestamp, Value::String(text)) => {
                if time(text).is_none() {
                    let message = "a time is written as 2026-11-30T12:00:00.000Z or with +01:00 for its zone";
                    faults.add(pointer, Rule::BadTimestamp, message);
                }
                return;
            }
            (Self::Count | Self::Amount, Value::Number(number)) if number.as_f64().is_some_and(|it| it < 0.0) => {
                faults.add(pointer, Rule::Negative, "a number of zero or more is expected");
                return;
            }
            (Self::Amount, Value::Number(_)) => return,
            (Self::Count | Self::Whole, Value::Number(number)) if number.is_i64() || number.is_u64() => return,
            (Self::Object(shape), Value::Object(object)) => return shape.check(object, pointer, faults),
            (Self::List(kind), Value::Array(items)) => return list(kind, items, pointer, faults),
            (Self::Content, Value::Array(items)) => return list(&Kind::Object(&CONTENT_PART), items, pointer, faults),
            _ => self.expected(),
        };
        faults.add(
            pointer,
            Rule::WrongType,
            format!("{expected} is expected, not {}", found(value)),
        );
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Text | Self::Word(_) | Self::Timestamp => "a text",
            Self::Truth => "true or false",
            Self::Count | Self::Whole => "a whole number",
            Self::Amount | Self::Number => "a number",
            Self::Effort => "a text or a number",
            Self::Free | Self::Object(_) => "an object",
            Self::List(_) => "a list",
            Self::Content => "a text or a list of content parts",
        }
    }
}

fn list(kind: &Kind, items: &[Value], pointer: &str, faults: &mut Faults) {
    for (place, item) in items.iter().enumerate() {
        kind.check(item, &format!("{pointer}/{place}"), faults);
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reads a time in the one form that every ISO 8601 reader takes: date, `T`, time to the second with any fraction, and
/// `Z` or a zone of hours and minutes. Laxer forms pass one reader and not the next.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let digits = |part: &str, length: usize| {
        (part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    };
    let below = |part: &str, bound: u32| part.parse().ok().filter(|number: &u32| *number < bound).map(|_| ());
    let (date, clock) = text.split_once('T')?;
    let (clock, zone) = clock.split_at_checked(clock.find(['Z', '+', '-'])?)?;
    let (seconds, fraction) = match clock.split_once('.') {
        Some((seconds, fraction)) => (seconds, Some(fraction)),
        None => (clock, None),
    };
    let [year, month, day] = fields(date, '-')?;
    let [hour, minute, second] = fields(seconds, ':')?;
    for (part, length) in [(year, 4), (month, 2), (day, 2), (hour, 2), (minute, 2), (second, 2)] {
        digits(part, length)?;
    }
    // A leap second and the year 0 are what Python's reader refuses.
    below(second, 60)?;
    if year == "0000" {
        return None;
    }
    if let Some(fraction) = fraction {
        digits(fraction, fraction.len().clamp(1, 9))?;
    }
    if zone != "Z" {
        let (hours, minutes) = zone.get(1..)?.split_once(':')?;
        digits(hours, 2)?;
        digits(minutes, 2)?;
        below(hours, 24)?;
        below(minutes, 60)?;
    }
    text.parse().ok()
}

fn fields(text: &str, separator: char) -> Option<[&str; 3]> {
    let parts: Vec<&str> = text.split(separator).collect();
    parts.try_into().ok()
}
