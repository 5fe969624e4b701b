//! The strict check of an ATIF document: everything Harbor's own models refuse, and what they let pass that makes a
//! document mean two things. All faults are reported, not the first alone. Files that a document refers to are not opened.

mod rules;
mod shape;
mod text;

use serde::Serialize;
use std::fmt;

/// The rule a document breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Not one JSON text; nothing else of it can be checked.
    NotJson,
    /// One object has a key twice.
    DuplicateKey,
    /// A number no double can hold, or none at all, such as `NaN`.
    NonFinite,
    /// A value of another type than its field's.
    WrongType,
    /// A field the format does not have.
    UnknownField,
    /// A field the format demands.
    MissingField,
    /// A word outside the field's list.
    UnknownWord,
    /// A number below zero where none can be.
    Negative,
    /// No steps.
    NoSteps,
    /// A step whose number is not its place.
    StepOrder,
    /// A time that is not ISO 8601 with a zone.
    BadTimestamp,
    /// A step earlier than the one before it.
    TimeBackwards,
    /// A field of agent steps on another step.
    AgentOnly,
    /// A model's figures on a step that made no model request.
    NoModelCall,
    /// A call name used twice in the document.
    DuplicateCall,
    /// An observation of a call its step does not make.
    UnknownCall,
    /// A content part with the wrong parts for its type.
    BadContent,
    /// A total that is not the number of steps.
    WrongTotal,
    /// More cached tokens than tokens.
    CachedOverPrompt,
    /// A subagent reference that leads nowhere.
    UnresolvedSubagent,
    /// Embedded subagents without a name of their own.
    SubagentName,
}

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Where: a JSON pointer, empty for the whole document.
    pub pointer: String,
    /// The rule.
    pub rule: Rule,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(formatter, "{place}: {}", self.message)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, pointer: impl Into<String>, rule: Rule, message: impl Into<String>) {
        self.0.push(Fault {
            pointer: pointer.into(),
            rule,
            message: message.into(),
        });
    }
}

/// Everything that is wrong with the document `bytes`; empty for a good one.
pub fn strict(bytes: &[u8]) -> Vec<Fault> {
    let mut faults = Faults::default();
    if let Some(document) = text::read(bytes, &mut faults) {
        shape::check(&document, &mut faults);
        rules::check(&document, "", &mut faults);
    }
    faults.0
}

/// `key` as one more step of a JSON pointer.
fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
#[path = "../check_tests.rs"]
mod tests;
