//! What the Claude Code program is given and says: one line of JSON in, lines of JSON out. Knows nothing of processes.

use super::Marks;
use crate::attempts::{AttemptError, AttemptErrorKind};
use crate::bounded::{Bounded, Items, TEXT_BYTES};
use crate::refusal::{capacity, shorten};
use coder_agent::{CapacityKind, Cost, Tokens};
use coder_digest::Timestamp;
use coder_failover::Reset;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;

/// The windows of a plan, as the program names them; another word is a limit on requests.
const WINDOWS: [&str; 6] = [
    "five_hour",
    "seven_day",
    "seven_day_opus",
    "seven_day_sonnet",
    "seven_day_overage_included",
    "overage",
];
/// The model of a message that the program wrote itself.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    message: Message<'a>,
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
    cache_control: Option<Value>,
}

/// The line the program is given: the prompt in growing pieces, the last one marked.
pub(crate) fn input(prompt: &str, cuts: &[usize], marks: Marks) -> Result<String, serde_json::Error> {
    let pieces = crate::http::pieces(prompt, cuts);
    let last = pieces.len().saturating_sub(1);
    let block = |(place, text)| Block {
        r#type: "text",
        text,
        cache_control: (place == last && marks == Marks::Set).then(|| json!({ "type": "ephemeral" })),
    };
    serde_json::to_string(&Line {
        r#type: "user",
        message: Message {
            role: "user",
            content: pieces.into_iter().enumerate().map(block).collect(),
        },
    })
}

/// What the record keeps as the request's body: the program, its arguments, its input.
pub(crate) fn body(program: &Path, arguments: &[String], line: &str) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Body<'a> {
        program: String,
        arguments: &'a [String],
        input: &'a RawValue,
    }
    serde_json::to_string(&Body {
        program: super::shown(program),
        arguments,
        input: serde_json::from_str(line)?,
    })
}

/// Whether the provider refused for the mark in the prompt.
pub(crate) fn complains_of_mark(error: &AttemptError) -> bool {
    error.kind == AttemptErrorKind::Status && error.message.contains("cache_control")
}

/// Whether more is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Over,
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) status: Option<u16>,
    pub(crate) served_model: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) text: String,
    pub(crate) items: Vec<Value>,
    pub(crate) tokens: Tokens,
    pub(crate) cost: Cost,
    pub(crate) bytes: u64,
    pub(crate) error: Option<AttemptError>,
}

/// Reads the program's output, line by line, up to its result.
pub(crate) struct Lines {
    line: Vec<u8>,
    bytes: u64,
    limit: u64,
    items: Items,
    limit_event: Option<Value>,
    spoke: Option<String>,
    result: Option<Value>,
    fault: Option<(AttemptErrorKind, String)>,
}

impl Lines {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            line: Vec::new(),
            bytes: 0,
            limit,
            items: Items::default(),
            limit_event: None,
            spoke: None,
            result: None,
            fault: None,
        }
    }

    /// Whether the result came, or nothing that does can be used any more.
    pub(crate) fn is_over(&self) -> bool {
        self.result.is_some() || self.fault.is_some()
    }

    /// Takes bytes of the output, wherever they are cut.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Progress {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_over() {
                break;
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take(line.trim_ascii());
            }
        }
        if self.bytes > self.limit && !self.is_over() {
            let message = format!("the program printed more than {} bytes", self.limit);
            self.fault = Some((AttemptErrorKind::TooLarge, message));
        }
        match self.is_over() {
            true => Progress::Over,
            false => Progress::More,
        }
    }

    fn take(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            // A warning of the runtime's, before or between the lines, is no fault; broken text inside one is.
            if line.starts_with(b"{") {
                let message = "a line of the program is no JSON in UTF-8".to_owned();
                self.fault = Some((AttemptErrorKind::Malformed, message));
            }
            return;
        };
        match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "result" => self.result = Some(value),
            "rate_limit_event" => {
                self.limit_event = value.get("rate_limit_info").cloned();
                // Its evidence; one that is too large for a record says nothing more.
                let _ = self.items.push(value);
            }
            "assistant" => {
                let model = value.pointer("/message/model").and_then(Value::as_str);
                if let Some(model) = model.filter(|model| *model != SYNTHETIC) {
                    self.spoke = Some(shorten(model));
                }
                if let Some(message) = value.get("message")
                    && self.items.push(message.clone()).is_err()
                {
                    let message = "the reply is larger than is kept of one (2.5 MiB)".to_owned();
                    self.fault = Some((AttemptErrorKind::TooLarge, message));
                }
            }
            // Pieces of what comes whole later, and what the program tells of itself.
            _ => {}
        }
    }

    /// What all of it means at `now`.
    pub(crate) fn finish(self, now: Timestamp) -> Read {
        let result = self.result.clone().unwrap_or(Value::Null);
        let mut read = Read {
            status: result
                .get("api_error_status")
                .and_then(Value::as_u64)
                .and_then(|status| u16::try_from(status).ok()),
            served_model: self.served(&result),
            session: result.get("session_id").and_then(Value::as_str).map(shorten),
            text: String::new(),
            items: Vec::new(),
            tokens: tokens(&result),
            cost: cost(&result),
            bytes: self.bytes,
            error: None,
        };
        if let Some((kind, message)) = &self.fault {
            read.error = Some(plain(*kind, message.clone()));
        } else if self.result.is_some() {
            match result.get("is_error").and_then(Value::as_bool) {
                Some(false) => self.reply(&result, &mut read),
                // The subtype says success on a failed call too; only this field tells.
                Some(true) | None => read.error = Some(self.refusal(&result, now)),
            }
        }
        read.items = self.items.into_values();
        read
    }

    /// Who answered: the message itself says it, else the only model that was used.
    fn served(&self, result: &Value) -> Option<String> {
        let used = result.get("modelUsage").and_then(Value::as_object);
        let only = used.filter(|used| used.len() == 1).and_then(|used| used.keys().next());
        self.spoke.clone().or_else(|| only.map(|model| shorten(model)))
    }

    fn reply(&self, result: &Value, read: &mut Read) {
        let said = match result.get("structured_output") {
            Some(output) if output.is_object() => output.to_string(),
            Some(_) | None => result
                .get("result")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        };
        let mut text = Bounded::new(TEXT_BYTES);
        if text.push(&said).is_err() {
            read.error = Some(plain(
                AttemptErrorKind::TooLarge,
                "the reply is larger than is kept of one (1 MiB of text)".to_owned(),
            ));
        }
        read.text = text.into_string();
    }

    fn refusal(&self, result: &Value, now: Timestamp) -> AttemptError {
        let words = result
            .get("result")
            .and_then(Value::as_str)
            .or_else(|| result.pointer("/errors/0").and_then(Value::as_str))
            .unwrap_or_default();
        let status = result.get("api_error_status").and_then(Value::as_u64);
        let event = self.limit_event.as_ref();
        let told = |name: &str| event.and_then(|event| event.get(name));
        let rejected = told("status").and_then(Value::as_str) == Some("rejected");
        let mut message = match status {
            Some(status) => format!("the program reports HTTP status {status}"),
            None => "the program reports an error".to_owned(),
        };
        if !words.is_empty() {
            message.push_str(": ");
            message.push_str(&shorten(words));
        }
        if status != Some(429) && !rejected {
            return plain(AttemptErrorKind::Status, message);
        }
        let window = told("rateLimitType").and_then(Value::as_str).filter(|_| rejected);
        let kind = match window {
            Some(window) if WINDOWS.contains(&window) => CapacityKind::UsageLimit,
            Some(_) | None => CapacityKind::RateLimit,
        };
        // An event that allowed the request says when its window begins anew, and nothing of this refusal.
        let reset = event
            .filter(|_| rejected)
            .and_then(|event| Reset::from_fields(event, now))
            .or_else(|| Reset::from_message(words, now));
        capacity(kind, reset, &message)
    }
}

fn plain(kind: AttemptErrorKind, message: String) -> AttemptError {
    AttemptError {
        kind,
        message,
        capacity: None,
    }
}

fn tokens(result: &Value) -> Tokens {
    let count = |name: &str| result.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
    let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map(count);
    let input = count("input_tokens").map(|_| parts.into_iter().flatten().fold(0, u64::saturating_add));
    crate::received::counted(Tokens {
        input,
        cached: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        reasoning: None,
    })
}

/// What the program says the call costs at list prices. Nothing without a result: what was asked may have been answered.
fn cost(result: &Value) -> Cost {
    match result.get("total_cost_usd").and_then(Value::as_f64) {
        Some(dollars) if dollars.is_finite() && (0.0..1e9).contains(&dollars) => {
            Cost::Known((dollars * 1e6).ceil() as u64)
        }
        Some(_) | None => Cost::Unknown,
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
