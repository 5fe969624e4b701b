//! Reads a document's text so that its faults can be listed: duplicate keys and impossible numbers are noted and read
//! past, where the strict reader of task commands would stop at the first.

use super::{Faults, Rule, below};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;

pub(super) fn read(bytes: &[u8], faults: &mut Faults) -> Option<Value> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the document is not UTF-8: byte {}", error.valid_up_to());
            faults.add("", Rule::NotJson, message);
            return None;
        }
    };
    let text = without_impossible_numbers(text, faults);
    let mut parser = serde_json::Deserializer::from_str(&text);
    let node = Node {
        pointer: String::new(),
        faults,
    };
    let value = node
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value));
    value
        .map_err(|error| faults.add("", Rule::NotJson, format!("the document is not JSON: {error}")))
        .ok()
}

/// Replaces `NaN`, the infinities (which Python writes and reads) and numbers beyond a double's range by `null`, noting
/// each, so that the rest of the document can still be read.
fn without_impossible_numbers<'a>(text: &'a str, faults: &mut Faults) -> Cow<'a, str> {
    let bytes = text.as_bytes();
    let mut kept = String::new();
    let mut copied = 0;
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => index = end_of_string(bytes, index),
            b'N' | b'I' | b'-' | b'0'..=b'9' => {
                let length = bytes
                    .get(index..)
                    .unwrap_or_default()
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                    .count();
                let word = text.get(index..index + length).unwrap_or_default();
                // `f64::from_str` takes more words than these, but those are no JSON in any reading and stay.
                let impossible = match word {
                    "NaN" | "Infinity" | "-Infinity" => true,
                    _ => {
                        !word.contains(|letter: char| letter.is_alphabetic() && !"eE".contains(letter))
                            && word.parse::<f64>().is_ok_and(|number| !number.is_finite())
                    }
                };
                if impossible {
                    faults.add(
                        "",
                        Rule::NonFinite,
                        format!("`{word}` at byte {index} is not a finite number"),
                    );
                    kept.push_str(text.get(copied..index).unwrap_or_default());
                    kept.push_str("null");
                    copied = index + length;
                }
                index += length.max(1);
            }
            _ => index += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(kept)
}

/// The place after the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut index = start + 1;
    while let Some(byte) = bytes.get(index) {
        match byte {
            b'"' => return index + 1,
            b'\\' => index += 2,
            _ => index += 1,
        }
    }
    index
}

struct Node<'a> {
    pointer: String,
    faults: &'a mut Faults,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
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

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let node = Node {
                pointer: format!("{}/{}", self.pointer, list.len()),
                faults: &mut *self.faults,
            };
            match items.next_element_seed(node)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let pointer = below(&self.pointer, &key);
            if object.contains_key(&key) {
                let message = format!("the key `{key}` stands twice in one object");
                self.faults.add(pointer.clone(), Rule::DuplicateKey, message);
            }
            let node = Node {
                pointer,
                faults: &mut *self.faults,
            };
            let value = fields.next_value_seed(node)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
