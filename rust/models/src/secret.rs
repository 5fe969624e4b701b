//! A key that can be sent and nothing else: no `Debug`, `Display` or serialised form shows it, and text that came from
//! outside is cleared of it before anyone keeps it.

use serde_json::Value;
use std::fmt;

const CLEARED: &str = "[key]";

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The key; white space around it, such as a file's last line end, is no part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the key.
    pub(crate) fn clear(&self, text: &mut String) {
        if !self.0.is_empty() && text.contains(&self.0) {
            *text = text.replace(&self.0, CLEARED);
        }
    }

    /// Replaces every occurrence of the key in the strings and names of a value.
    pub(crate) fn clear_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.clear(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clear_value(item)),
            Value::Object(fields) => {
                if !self.0.is_empty() && fields.keys().any(|name| name.contains(&self.0)) {
                    *fields = std::mem::take(fields)
                        .into_iter()
                        .map(|(name, item)| (name.replace(&self.0, CLEARED), item))
                        .collect();
                }
                fields.values_mut().for_each(|item| self.clear_value(item));
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_not_shown_and_is_cleared_from_what_others_wrote() {
        let secret = Secret::new("canary-1\n");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let mut value = json!({"a canary-1": ["x canary-1canary-1", 1, null], "b": {"c": "clean"}});
        secret.clear_value(&mut value);
        assert_eq!(
            value,
            json!({"a [key]": ["x [key][key]", 1, null], "b": {"c": "clean"}})
        );
    }

    #[test]
    fn an_empty_key_clears_nothing() {
        let mut text = "abc".to_owned();
        Secret::new("").clear(&mut text);
        assert_eq!(text, "abc");
    }
}
