//! What can be wrong with a line of the log, in the fixed words of facts 9.1, and `bad_chain`, which is ours.

use serde::{Deserialize, Serialize};

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The last line has no newline: the writer died, or the disk filled, in the middle of it.
    Torn,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not one strict JSON text; a block of NUL bytes is this.
    NotJson,
    /// JSON, but no record of the format.
    UnknownRecord,
    /// A session of another shape.
    BadSession,
    /// A step of another shape.
    BadStep,
    /// A second session.
    RepeatedSession,
    /// A second end.
    RepeatedEnd,
    /// A step after the end.
    AfterEnd,
    /// A step or an end before the session.
    BeforeSession,
    /// A session with a label this program does not read.
    UnsupportedVersion,
    /// The line does not name the digest of the line before: one of them was removed, repeated, moved or edited.
    BadChain,
}

impl FaultKind {
    /// The fixed word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Torn => "torn",
            Self::NotUtf8 => "not_utf8",
            Self::NotJson => "not_json",
            Self::UnknownRecord => "unknown_record",
            Self::BadSession => "bad_session",
            Self::BadStep => "bad_step",
            Self::RepeatedSession => "repeated_session",
            Self::RepeatedEnd => "repeated_end",
            Self::AfterEnd => "after_end",
            Self::BeforeSession => "before_session",
            Self::UnsupportedVersion => "unsupported_version",
            Self::BadChain => "bad_chain",
        }
    }
}

/// One fault and its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fault {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: FaultKind,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(FaultKind::Torn, "torn")]
    #[case(FaultKind::NotUtf8, "not_utf8")]
    #[case(FaultKind::NotJson, "not_json")]
    #[case(FaultKind::UnknownRecord, "unknown_record")]
    #[case(FaultKind::BadSession, "bad_session")]
    #[case(FaultKind::BadStep, "bad_step")]
    #[case(FaultKind::RepeatedSession, "repeated_session")]
    #[case(FaultKind::RepeatedEnd, "repeated_end")]
    #[case(FaultKind::AfterEnd, "after_end")]
    #[case(FaultKind::BeforeSession, "before_session")]
    #[case(FaultKind::UnsupportedVersion, "unsupported_version")]
    #[case(FaultKind::BadChain, "bad_chain")]
    fn the_words_are_fixed(#[case] kind: FaultKind, #[case] word: &str) {
        assert_eq!(kind.word(), word);
        assert_eq!(serde_json::to_value(kind).unwrap(), word);
    }
}
