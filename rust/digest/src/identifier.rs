//! Names that travel into file names and SQL: command, task and adapter identifiers, and model names.
//! Grammar of facts 1.1: 1 to 128 bytes, first an ASCII letter or digit, then letters, digits, `.`, `_`, `-`. A model name
//! may also hold `/`, and `:` and `@`, which local and hosted servers put before a tag or a version. Nothing here decides
//! whether the named thing exists.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// A string outside the identifier grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an identifier is 1 to 128 of A-Z a-z 0-9 . _ -{extra} and begins with a letter or digit")]
pub struct IdentifierError {
    extra: &'static str,
}

fn check(text: &str, model: bool) -> Result<(), IdentifierError> {
    let bytes = text.as_bytes();
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte) || (model && b"/:@".contains(byte));
    if (1..=128).contains(&bytes.len()) && bytes[0].is_ascii_alphanumeric() && bytes.iter().all(rest) {
        Ok(())
    } else {
        Err(IdentifierError {
            extra: if model { " / : @" } else { "" },
        })
    }
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $model:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks `text` against the grammar.
            ///
            /// # Errors
            /// [`IdentifierError`] outside the grammar.
            pub fn new(text: impl Into<String>) -> Result<Self, IdentifierError> {
                let text = text.into();
                check(&text, $model)?;
                Ok(Self(text))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, formatter)
            }
        }

        impl FromStr for $name {
            type Err = IdentifierError;

            fn from_str(text: &str) -> Result<Self, IdentifierError> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

identifier!(
    /// A command or adapter identifier.
    Identifier, false
);
identifier!(
    /// The identifier of a task; it also names files of the store.
    TaskId, false
);
identifier!(
    /// The exact name of a model, as the provider reports it.
    ModelName, true
);

#[cfg(test)]
#[path = "identifier_tests.rs"]
mod tests;
