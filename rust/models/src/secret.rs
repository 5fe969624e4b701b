//! A key that can be sent and nothing else: no `Debug`, `Display` or serialised form shows it, and text that came from
//! outside is cleared of it before anyone keeps it, however many times JSON has escaped it there.

use crate::error::Error;
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::fmt;

const CLEARED: &str = "[key]";
/// The shortest beginning of the key that is cleared from the end of a text that was cut, in characters.
const SHORTEST_PART: usize = 4;
/// The shortest key: what is cleared of a shorter one is cleared of ordinary words with it. Backslashes do not count, since
/// escaping makes any number of them.
const MINIMUM_KEY_CHARACTERS: usize = 8;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Whether a text ends where its writer ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// It may end in the middle of the key.
    Cut,
}

/// A text without its JSON escapes, at whatever depth: `\"`, `\\\"` and `\u0022` are all `"`. Backslashes are dropped, so
/// two texts that differ in nothing else are taken for one; that clears too much rather than too little.
struct Plain {
    bytes: Vec<u8>,
    /// For each byte, where what it was written as begins and ends in the text.
    places: Vec<(usize, usize)>,
}

impl Plain {
    fn of(text: &str) -> Self {
        let mut plain = Self {
            bytes: Vec::with_capacity(text.len()),
            places: Vec::with_capacity(text.len()),
        };
        let mut begin = 0;
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            let at = text.len() - rest.len();
            if byte == b'\\' {
                rest = after;
                continue;
            }
            let (byte, after) = match code_unit(rest).filter(|_| begin < at) {
                Some((b'\\', after)) => {
                    rest = after;
                    continue;
                }
                Some(decoded) => decoded,
                None => (byte, after),
            };
            rest = after;
            let end = text.len() - rest.len();
            plain.bytes.push(byte);
            plain.places.push((begin, end));
            begin = end;
        }
        plain
    }

    /// How much of the end of this text is a beginning of `key`, in bytes; at least [`SHORTEST_PART`] or nothing.
    fn part(&self, key: &[u8]) -> usize {
        (SHORTEST_PART..key.len())
            .rev()
            .find(|length| key.get(..*length).is_some_and(|part| self.bytes.ends_with(part)))
            .unwrap_or(0)
    }
}

/// The ASCII character that `uXXXX` stands for, and what follows it.
fn code_unit(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, after) = text.strip_prefix(b"u")?.split_at_checked(4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    code.is_ascii().then_some((code, after))
}

impl Secret {
    /// The key; white space around it, such as a file's last line end, is no part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The key as a header's value behind `scheme`, marked so that no log shows it.
    pub(crate) fn header(&self, scheme: &str) -> Result<HeaderValue, Error> {
        let unsendable = Error::Key {
            reason: "no HTTP header can hold it: it is empty or holds characters other than visible ASCII",
        };
        if self.0.is_empty() || !self.0.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unsendable);
        }
        // How many characters a text must agree in to be taken for the key.
        if Plain::of(&self.0).bytes.len() < MINIMUM_KEY_CHARACTERS {
            return Err(Error::Key {
                reason: "it has fewer than 8 characters other than backslashes, which would be found all over a reply when that is cleared of it: \
                         use a longer key, or none where the endpoint asks for none",
            });
        }
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", self.0)).map_err(|_| unsendable)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Replaces every occurrence of the key, also one that JSON escaped any number of times; of a text that was cut also
    /// the beginning of one at its end.
    pub(crate) fn clear(&self, text: &mut String, extent: Extent) {
        let key = Plain::of(&self.0).bytes;
        let Some(&first) = key.first() else { return };
        let kept = text.strip_suffix('…').unwrap_or(text);
        let plain = Plain::of(kept);
        let mut cleared = String::new();
        let (mut from, mut index) = (0, 0);
        let part = match extent {
            Extent::Whole => 0,
            Extent::Cut => plain.part(&key),
        };
        while let Some(bytes) = plain.bytes.get(index..).filter(|bytes| !bytes.is_empty()) {
            let found = match bytes.first() == Some(&first) {
                true if bytes.starts_with(&key) => key.len(),
                true if bytes.len() == part => part,
                _ => 0,
            };
            let places = plain.places.get(index..index + found).unwrap_or_default();
            if let (Some((begin, _)), Some((_, end))) = (places.first(), places.last()) {
                cleared.push_str(text.get(from..*begin).unwrap_or_default());
                cleared.push_str(CLEARED);
                from = *end;
            }
            index += found.max(1);
        }
        if from > 0 {
            cleared.push_str(text.get(from..).unwrap_or_default());
            *text = cleared;
        }
    }

    /// Replaces every occurrence of the key in the strings and names of a value.
    pub(crate) fn clear_value(&self, value: &mut Value, extent: Extent) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.clear(text, extent),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clear_value(item, extent)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(mut name, mut item)| {
                        self.clear(&mut name, extent);
                        self.clear_value(&mut item, extent);
                        (name, item)
                    })
                    .collect();
            }
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
