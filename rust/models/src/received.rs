//! What has come of one response so far, whatever the protocol: kept while it streams, so that a broken or cancelled
//! request still leaves its part on record.

use crate::attempts::{AttemptError, AttemptErrorKind};
use crate::secret::{Extent, Secret};
use coder_agent::Tokens;
use serde_json::Value;

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
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) status: Option<u16>,
    pub(crate) served_model: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) text: String,
    pub(crate) items: Vec<Value>,
    pub(crate) tokens: Tokens,
    pub(crate) body_bytes: u64,
    pub(crate) end: End,
    /// The first fault that the response itself tells of.
    pub(crate) error: Option<AttemptError>,
}

impl Received {
    /// Takes a model name; the first one that says anything stands, and a later other one is as wrong as a first one.
    pub(crate) fn name_model(&mut self, name: Option<&str>, admitted: &str) {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return;
        };
        match &self.served_model {
            Some(known) if known == name || known != admitted => {}
            Some(_) | None => self.served_model = Some(name.to_owned()),
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

/// Zero for both prompt and reply is what servers write that do not count: that is unknown, not zero.
pub(crate) fn counted(tokens: Tokens) -> Tokens {
    match (tokens.input, tokens.output) {
        (Some(0) | None, Some(0) | None) => Tokens::UNKNOWN,
        _ => tokens,
    }
}

/// A count at a path of a value.
pub(crate) fn count(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
