//! What of a command's failures the boundary is the reason for. The kernel tells nobody but its audit log, so this is
//! inferred: a line of the output that speaks of a denial names a path, and the boundary's own policy refuses that path.
//! Marked as inferred, bounded in number and length; the exact output is kept elsewhere.

use crate::outcome::kept;
use coder_boundary::{Act, Boundary, Found};
use coder_digest::display_bytes;
use coder_process::Outcome;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// How much of the beginning and of the end of each stream is read.
const SCANNED_BYTES: usize = 32 * 1024;
/// How many denials are told of.
const TOLD: usize = 16;
/// How many words are asked about.
const ASKED: usize = 256;
/// The longest path that is asked about.
const PATH_BYTES: usize = 1024;

/// What programs say when something is not there.
const ABSENT: [&str; 4] = ["No such file or directory", "cannot find", "ENOENT", "not found"];
/// What they say when something must not be changed or read.
const FORBIDDEN: [&str; 6] = [
    "Permission denied",
    "Read-only file system",
    "Operation not permitted",
    "EACCES",
    "EROFS",
    "EPERM",
];
/// What they say when there is no network.
const OFFLINE: [&str; 8] = [
    "Could not resolve host",
    "could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "failed to lookup address",
    "Network is unreachable",
    "ENOTFOUND",
    "EAI_AGAIN",
];

/// One denial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// The path, or `network`.
    pub subject: String,
    /// What of the policy refuses it.
    pub rule: String,
    /// Whether it was concluded from the output instead of reported by the kernel.
    pub inferred: bool,
}

impl fmt::Display for Denied {
    /// One line for people and models.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.inferred {
            " (inferred from the output)"
        } else {
            ""
        };
        write!(formatter, "denied: {}{how}: {}", self.subject, self.rule)
    }
}

/// How a line speaks of a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Absent,
    Forbidden,
}

/// Reads what is kept of a command's output.
pub(crate) fn of_outcome(boundary: &Boundary, outcome: &Outcome) -> Vec<Denied> {
    let directory = boundary.directory().unwrap_or(Path::new("/"));
    inferred(boundary, directory, &kept(outcome))
}

/// Reads the streams of a command that started in `directory`.
pub(crate) fn inferred(boundary: &Boundary, directory: &Path, streams: &[&[u8]]) -> Vec<Denied> {
    let mut search = Search {
        boundary,
        directory,
        seen: BTreeSet::new(),
        found: Vec::new(),
    };
    for stream in streams {
        let end = stream.len().saturating_sub(SCANNED_BYTES);
        let (head, tail) = match end {
            0 => (*stream, &[][..]),
            end => (
                stream.get(..SCANNED_BYTES.min(end)).unwrap_or_default(),
                stream.get(end..).unwrap_or_default(),
            ),
        };
        for line in head
            .split(|byte| *byte == b'\n')
            .chain(tail.split(|byte| *byte == b'\n'))
        {
            search.line(line);
        }
    }
    search.found
}

struct Search<'a> {
    boundary: &'a Boundary,
    directory: &'a Path,
    seen: BTreeSet<Vec<u8>>,
    found: Vec<Denied>,
}

impl Search<'_> {
    fn line(&mut self, line: &[u8]) {
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| holds(line, phrase.as_bytes()));
        if says(&OFFLINE) {
            self.network();
        }
        let speech = match (says(&FORBIDDEN), says(&ABSENT)) {
            (true, _) => Speech::Forbidden,
            (false, true) => Speech::Absent,
            (false, false) => return,
        };
        for word in words(line) {
            if self.found.len() >= TOLD || self.seen.len() >= ASKED {
                return;
            }
            if word.is_empty() || word.len() > PATH_BYTES || !self.seen.insert(word.to_vec()) {
                continue;
            }
            self.ask(word, speech);
        }
    }

    fn ask(&mut self, word: &[u8], speech: Speech) {
        let path = self.directory.join(OsStr::from_bytes(word));
        let why = self.boundary.why(&path);
        let denied = match speech {
            Speech::Absent => why.found == Found::Hidden,
            Speech::Forbidden => {
                // A bare word is only a path where there is something of that name.
                let plain = !word.contains(&b'/') && why.found == Found::Nothing;
                !plain && why.refused.contains(&Act::Write)
            }
        };
        if denied {
            self.found.push(Denied {
                subject: display_bytes(path.as_os_str().as_bytes()),
                rule: why.rule,
                inferred: true,
            });
        }
    }

    fn network(&mut self) {
        let subject = "network";
        let told = self.found.iter().any(|denied| denied.subject == subject);
        if let Some(rule) = self.boundary.why_offline()
            && !told
            && self.found.len() < TOLD
        {
            self.found.push(Denied {
                subject: subject.to_owned(),
                rule,
                inferred: true,
            });
        }
    }
}

fn holds(line: &[u8], phrase: &[u8]) -> bool {
    line.windows(phrase.len()).any(|window| window == phrase)
}

/// What may be a path: what stands between two quotation marks, and what between spaces, colons and brackets.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let quoted = [b'\'', b'"', b'`'].into_iter().flat_map(|mark| {
        // Every second part lies between two marks.
        line.split(move |byte| *byte == mark).skip(1).step_by(2)
    });
    let bare = line.split(|byte| byte.is_ascii_whitespace() || b":,;()[]'\"`<>".contains(byte));
    quoted.chain(bare)
}

#[cfg(test)]
#[path = "denials_tests.rs"]
mod tests;
