//! How anything is printed: data to standard output, talk to standard error, a failure once and in one form. A reader
//! that closed its end early is no failure.

use coder_digest::is_unsafe_to_show;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

/// Why a command did not do what was asked, with the status it ends in.
#[derive(Debug)]
pub(crate) struct Failure {
    code: String,
    message: String,
    status: u8,
    form: Form,
}

/// How a failure is written for programs.
#[derive(Debug)]
enum Form {
    /// `{"error":{"code","message"}}`.
    Nested,
    /// `{"error","code","cause"}`, the form of a refused grant; the cause is left out where there is none.
    Flat { cause: Option<&'static str> },
}

impl Failure {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>, status: u8) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            status,
            form: Form::Nested,
        }
    }

    /// The failure of a grant's run: the message itself under `error`, and which part refused.
    pub(crate) fn of_run(error: &coder_host::Error, status: u8) -> Self {
        Self {
            form: Form::Flat {
                cause: Some(error.cause()),
            },
            ..Self::of(error, status)
        }
    }

    /// The same failure in the form of a grant's run.
    #[must_use]
    pub(crate) fn flat(self) -> Self {
        match self.form {
            Form::Nested => Self {
                form: Form::Flat { cause: None },
                ..self
            },
            Form::Flat { .. } => self,
        }
    }

    /// The same failure with another exit status.
    #[must_use]
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn of(error: &coder_host::Error, status: u8) -> Self {
        Self::new(error.code(), error.message(), status)
    }

    /// Writes one object to standard error, and on a terminal the message in words.
    pub(crate) fn report(&self) -> ExitCode {
        let mut talk = io::stderr().lock();
        let written = if talk.is_terminal() {
            writeln!(
                talk,
                "error: {} ({})",
                coder_digest::display_bytes(self.message.as_bytes()),
                self.code
            )
        } else {
            writeln!(talk, "{}", self.document())
        };
        // Nobody is left to tell when standard error is closed; the status still says it.
        drop(written);
        ExitCode::from(self.status)
    }
}

impl Failure {
    fn document(&self) -> serde_json::Value {
        match self.form {
            Form::Nested => serde_json::json!({ "error": { "code": self.code, "message": self.message } }),
            Form::Flat { cause: None } => serde_json::json!({ "error": self.message, "code": self.code }),
            Form::Flat { cause: Some(cause) } => {
                serde_json::json!({ "error": self.message, "code": self.code, "cause": cause })
            }
        }
    }
}

/// Writes to standard output. A closed pipe ends the command quietly and well.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            "output",
            format!("could not write to standard output: {error}"),
            1,
        )),
    }
}

/// Writes one JSON document and a newline to standard output, as it is made: a page of evidence may be mebibytes.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut output = Unobeyed(io::BufWriter::with_capacity(64 * 1024, io::stdout().lock()));
    let written = serde_json::to_writer_pretty(&mut output, value)
        .map_err(io::Error::from)
        .and_then(|()| output.0.write_all(b"\n"))
        .and_then(|()| output.0.flush());
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(
            "output",
            format!("could not write the answer to standard output: {error}"),
            1,
        )),
    }
}

/// Passes JSON on without a character that a terminal would obey: such a one only stands inside a string, where JSON has
/// an escape for it.
struct Unobeyed<W>(W);

impl<W: io::Write> io::Write for Unobeyed<W> {
    /// Takes whole pieces of text, as a serialiser of strings gives them.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        // Nearly all text is of this kind.
        if piece.iter().all(|byte| *byte == b'\n' || matches!(byte, b' '..=b'~')) {
            self.0.write_all(piece)?;
            return Ok(piece.len());
        }
        let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
        let mut safe = String::with_capacity(text.len());
        for character in text.chars() {
            if character != '\n' && is_unsafe_to_show(character) {
                safe.push_str(&format!("\\u{:04x}", u32::from(character)));
            } else {
                safe.push(character);
            }
        }
        self.0.write_all(safe.as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes one line of talk to standard error.
pub(crate) fn talk(line: &str) {
    // Talk is for whoever listens; nothing depends on it.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether a person reads standard output.
pub(crate) fn person_reads() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_is_the_same_json_and_steers_nothing() {
        let value = serde_json::json!({ "reply": "a\u{9b}2J\u{202e}b\nc" });
        let mut output = Unobeyed(Vec::new());
        serde_json::to_writer_pretty(&mut output, &value).unwrap();
        let text = String::from_utf8(output.0).unwrap();
        assert_eq!(text, "{\n  \"reply\": \"a\\u009b2J\\u202eb\\nc\"\n}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
