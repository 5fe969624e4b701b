//! Paths as the kernel has them: bytes without NUL. A name that is UTF-8 is written as a JSON string; any other as
//! `{"base64": "…"}`, so every name survives a round trip. Not a path type with operations: for that, `std::path`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A path, relative or absolute, kept byte for byte.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BytePath(Vec<u8>);

impl BytePath {
    /// The path of these exact bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same bytes as a `Path`, without copying.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// This path with one more component.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        if !bytes.is_empty() && !bytes.ends_with(b"/") {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes)
    }
}

impl From<&Path> for BytePath {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<&str> for BytePath {
    fn from(path: &str) -> Self {
        Self(path.as_bytes().to_vec())
    }
}

impl fmt::Display for BytePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&display_bytes(&self.0))
    }
}

impl fmt::Debug for BytePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&display_bytes(&self.0), formatter)
    }
}

/// Whether a character does something to a terminal or to the order of the text around it: control characters of both
/// sets, line and paragraph separators, and marks that turn the direction of writing.
pub fn is_unsafe_to_show(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Bytes for a person's eye: what is unsafe to show is escaped, what is not UTF-8 replaced. Lossy by design; never parse
/// or compare it.
pub fn display_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_unsafe_to_show(character) {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Encoded {
    base64: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Encoded(Encoded),
}

impl Serialize for BytePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Encoded {
                base64: STANDARD.encode(&self.0),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BytePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match Written::deserialize(deserializer)? {
            Written::Text(text) => text.into_bytes(),
            Written::Encoded(encoded) => STANDARD.decode(encoded.base64).map_err(serde::de::Error::custom)?,
        };
        if bytes.contains(&0) {
            return Err(serde::de::Error::custom("a path holds no NUL byte"));
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_survives_json(bytes in proptest::collection::vec(1..=255_u8, 0..40)) {
            let path = BytePath::new(bytes);
            let text = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<BytePath>(&text).unwrap(), path);
        }
    }

    #[test]
    fn the_two_written_forms() {
        assert_eq!(serde_json::to_string(&BytePath::from("a/é")).unwrap(), "\"a/é\"");
        assert_eq!(
            serde_json::to_string(&BytePath::new(*b"a\xff")).unwrap(),
            r#"{"base64":"Yf8="}"#
        );
        assert!(serde_json::from_str::<BytePath>("\"a\\u0000\"").is_err());
    }

    #[test]
    fn a_terminal_obeys_nothing_of_a_displayed_name() {
        assert_eq!(display_bytes(b"a\x1b[31m\n\xff"), "a\\u{1b}[31m\\n\u{fffd}");
        let turned = "a\u{9b}31m\u{202e}b\u{2028}";
        assert_eq!(display_bytes(turned.as_bytes()), "a\\u{9b}31m\\u{202e}b\\u{2028}");
    }
}
