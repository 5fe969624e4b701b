//! A text as one word of a POSIX shell, for commands that are shown to be copied.

use std::path::Path;

/// `text` quoted where the shell would read it as more than itself.
pub fn shell_word(text: &str) -> String {
    let safe = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%".contains(character);
    if !text.is_empty() && text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A path as one word.
pub fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

#[cfg(test)]
#[path = "shell_word_tests.rs"]
mod tests;
