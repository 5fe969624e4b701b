//! Strict JSON: one text, one meaning. Refuses what two readers could understand differently (duplicate keys, a byte
//! order mark, trailing data, lone surrogates, integers a double cannot hold, non-finite floats) and what could exhaust
//! this one (size, nesting). Also the canonical form: keys sorted by code point at every depth, nothing between tokens.
//! Error messages name fields and places, never the values of the input, which may be private.

use crate::Digest;
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The deepest nesting of arrays and objects that is read.
pub const MAXIMUM_DEPTH: usize = 64;
/// The largest integer, and with a minus sign the smallest: 2^53 - 1.
pub const MAXIMUM_INTEGER: i64 = (1 << 53) - 1;

/// The most bytes one JSON text may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub usize);

impl Limit {
    /// A task command or an execution grant: 64 KiB.
    pub const COMMAND: Self = Self(64 * 1024);
    /// One retained record: 8 MiB.
    pub const RECORD: Self = Self(8 * 1024 * 1024);
}

/// Why a text was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More bytes than allowed.
    #[error("the JSON text has {bytes} bytes; at most {limit} are allowed")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// Not UTF-8.
    #[error("the JSON text is not UTF-8: byte {offset}")]
    NotUtf8 {
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// Begins with U+FEFF.
    #[error("the JSON text begins with a byte order mark")]
    ByteOrderMark,
    /// Nested deeper than [`MAXIMUM_DEPTH`].
    #[error("the JSON text nests deeper than {MAXIMUM_DEPTH} levels (line {line}, column {column})")]
    TooDeep {
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
    },
    /// One object has the same key twice.
    #[error("the JSON object has the key `{key}` twice (line {line}, column {column})")]
    DuplicateKey {
        /// The key, shortened for display.
        key: String,
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
    },
    /// An integer outside ±(2^53 - 1).
    #[error("the JSON text has an integer outside ±(2^53 - 1) at byte {offset}")]
    Integer {
        /// Where the number begins.
        offset: usize,
    },
    /// Not JSON.
    #[error("not strict JSON: {reason} (line {line}, column {column})")]
    Syntax {
        /// What the parser says.
        reason: String,
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
    },
    /// Strict JSON, but not of the expected shape.
    #[error("the JSON text does not have the expected shape: {reason}")]
    Shape {
        /// What the parser says, values left out.
        reason: String,
    },
}

impl Error {
    /// Whether the text is strict JSON and only its shape is wrong, as when a newer program wrote it.
    pub fn is_shape(&self) -> bool {
        matches!(self, Self::Shape { .. })
    }

    /// Whether the shape is wrong by a field or word that is not known here, as when a newer program added it.
    pub fn is_unknown_name(&self) -> bool {
        let Self::Shape { reason } = self else { return false };
        UNKNOWN.iter().any(|unknown| reason.contains(unknown))
    }
}

/// Reads one strict JSON value.
///
/// # Errors
/// The first fault found; see [`Error`].
pub fn parse(bytes: &[u8], limit: Limit) -> Result<Value, Error> {
    if bytes.len() > limit.0 {
        return Err(Error::TooLarge {
            bytes: bytes.len(),
            limit: limit.0,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Error::ByteOrderMark);
    }
    check_integers(bytes)?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Node { depth: 0 }
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value));
    value.map_err(strict_error)
}

/// Reads one strict JSON value of the shape `T`. Give `T` `#[serde(deny_unknown_fields)]` to make it closed.
///
/// # Errors
/// As [`parse`], then [`Error::Shape`].
pub fn parse_as<T: DeserializeOwned>(bytes: &[u8], limit: Limit) -> Result<T, Error> {
    parse(bytes, limit)?;
    // From the text again and not from the value, so that a shape error keeps its line and column.
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let place = error.path().to_string();
        let reason = short_names(&without_values(&error.inner().to_string()));
        Error::Shape {
            reason: if place == "." {
                reason
            } else {
                format!("at `{}`: {reason}", short(&place))
            },
        }
    })
}

/// How the messages about a name that is not part of a closed shape begin.
const UNKNOWN: [&str; 2] = ["unknown field `", "unknown variant `"];

/// Shortens the unknown name that a message repeats: it is the writer's, and of any length.
fn short_names(reason: &str) -> String {
    for unknown in UNKNOWN {
        // From the end: the name can be anything, and the list of known names holds no such words.
        let parts = reason
            .strip_prefix(unknown)
            .and_then(|rest| rest.rsplit_once("`, expected"));
        if let Some((name, known)) = parts {
            return format!("{unknown}{}`, expected{known}", short(name));
        }
    }
    reason.to_owned()
}

/// At most 64 characters of a name, none of them a control character.
fn short(name: &str) -> String {
    name.chars()
        .filter(|character| !character.is_control())
        .take(64)
        .collect()
}

/// The canonical text of `value`: keys sorted by code point at every depth, compact, shortest escapes.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

/// The canonical text of anything serializable.
///
/// # Errors
/// [`Error::Shape`] where `value` has no JSON form, such as a map with keys that are not strings.
pub fn canonical_of(value: &impl Serialize) -> Result<String, Error> {
    let value = serde_json::to_value(value).map_err(|error| Error::Shape {
        reason: error.to_string(),
    })?;
    Ok(canonical(&value))
}

/// The digest of the canonical text: what names arguments, requirements, contexts and plans (facts 9.9).
pub fn digest(value: &Value) -> Digest {
    Digest::of(canonical(value).as_bytes())
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // Sorted here: whether `Map` keeps insertion order is a feature any crate of the build may switch on.
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|left, right| left.0.cmp(right.0));
            text.push('{');
            for (index, (key, item)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(item, text);
            }
            text.push('}');
        }
    }
}

/// Integer literals are checked on the text, because the parser turns the large ones into floats before we see them.
fn check_integers(bytes: &[u8]) -> Result<(), Error> {
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'"' => {
                index += 1;
                // Records are mostly long strings: from one byte that matters to the next, not byte by byte.
                loop {
                    let rest = bytes.get(index..).unwrap_or_default();
                    let Some(place) = memchr::memchr2(b'"', b'\\', rest) else {
                        return Ok(());
                    };
                    index += place + 1;
                    match rest[place] {
                        b'"' => break,
                        _ => index += 1,
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let start = index;
                while index < bytes.len() && matches!(bytes[index], b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
                    index += 1;
                }
                let literal = &bytes[start..index];
                let integer = !literal.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
                let held = std::str::from_utf8(literal)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok());
                // A literal that is no number at all, such as `-`, is left to the parser's own message.
                let digits = literal.iter().filter(|byte| byte.is_ascii_digit()).count();
                if integer && digits > 0 && held.is_none_or(|number| number.abs() > MAXIMUM_INTEGER) && digits >= 16 {
                    return Err(Error::Integer { offset: start });
                }
            }
            _ => index += 1,
        }
    }
    Ok(())
}

const TOO_DEEP: &str = "\u{1}deep";
const TWICE: &str = "\u{1}twice";

fn strict_error(error: serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    if text == TOO_DEEP {
        Error::TooDeep { line, column }
    } else if let Some(key) = text.strip_prefix(TWICE) {
        Error::DuplicateKey {
            key: key.to_owned(),
            line,
            column,
        }
    } else {
        Error::Syntax {
            reason: without_values(text),
            line,
            column,
        }
    }
}

/// Drops what the parser quotes of the input's string values; field names stand in backticks and stay.
fn without_values(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut inside = false;
    let mut escaped = false;
    for character in message.chars() {
        if inside {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    inside = false;
                    kept.push_str("…\"");
                }
                _ => {}
            }
        } else {
            inside = character == '"';
            kept.push(character);
        }
    }
    kept
}

struct Node {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Node {
    fn inner<E: serde::de::Error>(&self) -> Result<Self, E> {
        if self.depth == MAXIMUM_DEPTH {
            Err(E::custom(TOO_DEEP))
        } else {
            Ok(Self { depth: self.depth + 1 })
        }
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // The only integer literal the parser hands over as a float here is `-0`.
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.inner::<A::Error>()?.depth;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node { depth })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.inner::<A::Error>()?.depth;
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if object.contains_key(&key) {
                let shown = short(&key);
                return Err(A::Error::custom(format_args!("{TWICE}{shown}")));
            }
            let value = fields.next_value_seed(Node { depth })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
