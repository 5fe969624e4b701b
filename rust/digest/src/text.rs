//! The text grammar of facts 1.1: not blank, bounded in bytes, no control characters; multi-line fields may hold LF, CR
//! and TAB. Says what is wrong without echoing the text, which may be private.

/// A text outside its grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing but white space.
    #[error("`{field}` must not be blank")]
    Blank {
        /// The field's name.
        field: &'static str,
    },
    /// Over its bound.
    #[error("`{field}` is {bytes} bytes; at most {limit} are allowed")]
    TooLong {
        /// The field's name.
        field: &'static str,
        /// Its length in bytes.
        bytes: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// Holds a control character.
    #[error("`{field}` holds a control character at byte {offset}")]
    Control {
        /// The field's name.
        field: &'static str,
        /// Where, in bytes from the start.
        offset: usize,
    },
}

/// Checks a field that may span lines: at most `limit` bytes, not blank, no control characters but LF, CR and TAB.
///
/// # Errors
/// [`TextError`] naming the field and the first fault.
pub fn check_text(field: &'static str, text: &str, limit: usize) -> Result<(), TextError> {
    check(field, text, limit, |character| {
        character.is_control() && !matches!(character, '\n' | '\r' | '\t')
    })
}

/// Checks a single-line field: at most `limit` bytes, not blank, no control characters at all.
///
/// # Errors
/// [`TextError`] naming the field and the first fault.
pub fn check_line(field: &'static str, text: &str, limit: usize) -> Result<(), TextError> {
    check(field, text, limit, char::is_control)
}

fn check(field: &'static str, text: &str, limit: usize, refused: impl Fn(char) -> bool) -> Result<(), TextError> {
    if text.len() > limit {
        return Err(TextError::TooLong {
            field,
            bytes: text.len(),
            limit,
        });
    }
    if text.trim().is_empty() {
        return Err(TextError::Blank { field });
    }
    match text.char_indices().find(|(_, character)| refused(*character)) {
        Some((offset, _)) => Err(TextError::Control { field, offset }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_name() {
        assert_eq!(check_text("prompt", "a\tb\r\nc", 8), Ok(()));
        assert_eq!(
            check_text("prompt", " \n", 8),
            Err(TextError::Blank { field: "prompt" })
        );
        assert_eq!(
            check_line("title", "ab", 1),
            Err(TextError::TooLong {
                field: "title",
                bytes: 2,
                limit: 1
            })
        );
        assert_eq!(
            check_line("title", "a\nb", 8),
            Err(TextError::Control {
                field: "title",
                offset: 1
            })
        );
        assert_eq!(
            check_text("prompt", "a\u{7f}", 8),
            Err(TextError::Control {
                field: "prompt",
                offset: 1
            })
        );
    }
}
