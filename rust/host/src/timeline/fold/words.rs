//! Reading a trace's values as words. What has another shape than expected is shown as it is, never dropped.

use crate::shell_word::shell_word;
use serde_json::Value;

/// The text at `pointer`, where there is one.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// A value as text: a string as it is, nothing as nothing, the rest as JSON.
pub(super) fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A program with its arguments in one line, as a shell takes it.
pub(super) fn command_line(program: &Value, arguments: Option<&Value>) -> String {
    let arguments = arguments.and_then(Value::as_array).into_iter().flatten();
    let words: Vec<String> = std::iter::once(program)
        .chain(arguments)
        .map(|word| shell_word(word.as_str().unwrap_or_default()))
        .collect();
    words.join(" ")
}
