//! What has come of one response so far, whatever the protocol: kept while it streams, so that a broken or cancelled
//! request still leaves its part on record.

use crate::attempts::{AttemptError, AttemptErrorKind};
use crate::bounded::{Bounded, Full, Items, TEXT_BYTES};
use coder_agent::Tokens;
use coder_failover::UsageWindow;
use serde_json::Value;

/// How much is kept of a model's name and of an identifier, in characters.
const NAME_CHARACTERS: usize = 1024;

/// How far a response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    /// The server may still add to it.
    #[default]
    Open,
    /// The server said that it is complete.
    Complete,
}

/// A response, as far as it came.
pub(crate) struct Received {
    pub(crate) status: Option<u16>,
    pub(crate) served_model: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) text: Bounded,
    pub(crate) items: Items,
    pub(crate) tokens: Tokens,
    /// The part of the prompt that was written to the provider's cache, where that has a price of its own.
    pub(crate) cache_written: Option<u64>,
    /// What the response says of the provider's windows.
    pub(crate) windows: Vec<UsageWindow>,
    pub(crate) body_bytes: u64,
    pub(crate) end: End,
    /// The first fault that the response itself tells of.
    pub(crate) error: Option<AttemptError>,
}

impl Default for Received {
    fn default() -> Self {
        Self {
            status: None,
            served_model: None,
            response_id: None,
            text: Bounded::new(TEXT_BYTES),
            items: Items::default(),
            tokens: Tokens::UNKNOWN,
            cache_written: None,
            windows: Vec::new(),
            body_bytes: 0,
            end: End::Open,
            error: None,
        }
    }
}

impl Received {
    /// Takes a model name; the first one that says anything stands, and a later other one is as wrong as a first one.
    pub(crate) fn name_model(&mut self, name: Option<&str>, admitted: &str) {
        let Some(name) = name.filter(|name| !name.is_empty()).map(cut) else {
            return;
        };
        match &self.served_model {
            Some(known) if *known == name || known != admitted => {}
            Some(_) | None => self.served_model = Some(name),
        }
    }

    /// Takes the response's own identifier; the first one stands.
    pub(crate) fn identify(&mut self, identifier: Option<&str>) {
        if self.response_id.is_none() {
            self.response_id = identifier.map(cut);
        }
    }

    /// Appends to the text what fits.
    pub(crate) fn say(&mut self, words: &str) {
        let pushed = self.text.push(words);
        self.fit(pushed);
    }

    /// Keeps an output item that fits.
    pub(crate) fn keep(&mut self, item: Value) {
        let pushed = self.items.push(item);
        self.fit(pushed);
    }

    /// Notes what did not fit.
    pub(crate) fn fit(&mut self, pushed: Result<(), Full>) {
        if pushed.is_err() {
            self.fail_with(
                AttemptErrorKind::TooLarge,
                "the response has more text or output than is kept of one (1 MiB of text, 2.5 MiB in all)",
            );
        }
    }

    /// Notes a fault unless an earlier one stands.
    pub(crate) fn fail(&mut self, error: AttemptError) {
        self.error.get_or_insert(error);
    }

    /// Notes a fault of a kind with no capacity refusal.
    pub(crate) fn fail_with(&mut self, kind: AttemptErrorKind, message: impl Into<String>) {
        self.fail(AttemptError {
            kind,
            message: message.into(),
            capacity: None,
        });
    }
}

/// The beginning of a name. Longer than any that is admitted, so that one which was cut is still another one.
fn cut(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS).collect()
}

/// Zero for both prompt and reply is what servers write that do not count: that is unknown, not zero.
pub(crate) fn counted(tokens: Tokens) -> Tokens {
    match (tokens.input, tokens.output) {
        (Some(0) | None, Some(0) | None) => Tokens::UNKNOWN,
        _ => tokens,
    }
}

/// A count at a path of a value.
pub(crate) fn count(value: &Value, pointer: &str) -> Option<u64> {
    // A larger one could not be recorded, and no server counted it.
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .filter(|count| *count <= coder_digest::json::MAXIMUM_INTEGER.unsigned_abs())
}
