//! What is kept of a response, bounded by the JSON it becomes in a record and not by its bytes, since one control character
//! takes six. A record that is too large to be retained would lose all that came.

use coder_digest::{Hasher, json};
use serde_json::Value;

/// The most JSON bytes of a reply's text, and as many again of its reasoning: 1 MiB.
pub(crate) const TEXT_BYTES: usize = 1024 * 1024;
/// The most JSON bytes of a refusal in words: 16 KiB.
pub(crate) const REFUSAL_BYTES: usize = 16 * 1024;
/// The most JSON bytes of all output items: 2.5 MiB, which holds a text with its reasoning. With the text on its own, a
/// record stays below 4 MiB.
const ITEMS_BYTES: usize = 5 * 512 * 1024;
/// The deepest nesting of an item; a record that holds it may nest to [`json::MAXIMUM_DEPTH`].
const ITEM_DEPTH: usize = 48;

/// Something did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A text that grows to a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounded {
    text: String,
    left: usize,
}

impl Bounded {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            left: limit,
        }
    }

    /// Appends `more`, or as much of it as fits; nothing more does then.
    pub(crate) fn push(&mut self, more: &str) -> Result<(), Full> {
        for character in more.chars() {
            let bytes = match character {
                '"' | '\\' | '\n' | '\r' | '\t' => 2,
                '\0'..='\u{1f}' => 6,
                _ => character.len_utf8(),
            };
            match self.left.checked_sub(bytes) {
                Some(left) => self.left = left,
                None => {
                    self.left = 0;
                    return Err(Full);
                }
            }
            self.text.push(character);
        }
        Ok(())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

/// The native output items that fit, and what tells of the others.
#[derive(Default)]
pub(crate) struct Items {
    kept: Vec<Value>,
    bytes: usize,
    omitted: u64,
    /// Over the JSON text of each omitted item, with a line end after it.
    omitted_text: Hasher,
}

impl Items {
    /// Keeps `item`, unless it does not fit or no record could hold it.
    pub(crate) fn push(&mut self, item: Value) -> Result<(), Full> {
        let text = item.to_string();
        let keepable = self.omitted == 0
            && self.bytes + text.len() <= ITEMS_BYTES
            && nests_within(&item, ITEM_DEPTH)
            && json::parse(text.as_bytes(), json::Limit(ITEMS_BYTES)).is_ok();
        if keepable {
            self.bytes += text.len();
            self.kept.push(item);
            return Ok(());
        }
        self.omitted += 1;
        self.omitted_text.update(text.as_bytes());
        self.omitted_text.update(b"\n");
        Err(Full)
    }

    pub(crate) fn kept(&self) -> &[Value] {
        &self.kept
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.omitted == 0
    }

    /// The kept items and, where some were not, one that says how many those are and, of their JSON with a line end after each,
    /// the length and the digest.
    pub(crate) fn into_values(self) -> Vec<Value> {
        let mut values = self.kept;
        if self.omitted > 0 {
            values.push(serde_json::json!({
                "type": "omitted",
                "items": self.omitted,
                "bytes": self.omitted_text.bytes(),
                "digest": self.omitted_text.finish(),
            }));
        }
        values
    }
}

fn nests_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| nests_within(item, depth - 1)),
        Value::Object(fields) => depth > 0 && fields.values().all(|item| nests_within(item, depth - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
#[path = "bounded_tests.rs"]
mod tests;
