//! What a log says: the session it belongs to and the steps of the run (facts 9.1). Plain data; the only rules here are
//! the ones a single step can break on its own. Time is stamped by the writer, so a step being built has none.

use crate::Error;
use coder_digest::{TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Names that the rendered document puts beside a step's extensions, so no extension may take them.
const RESERVED: [&str; 5] = ["call", "milliseconds", "model", "reasoning", "tokens"];
/// The last millisecond of the year 9999: four digits of year is what ISO 8601 readers agree on.
const LAST_MILLISECOND: i64 = 253_402_300_799_999;

/// The name of one turn's log: `<task>-<turn>`, unique within a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// The session of `task`'s turn number `turn`.
    pub fn new(task: &TaskId, turn: u64) -> Self {
        Self(format!("{task}-{turn}"))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whose run a log is (facts 9.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The log's name.
    pub id: SessionId,
    /// The first route's model, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The adapter that runs the task, such as `repository`.
    pub door: String,
    /// The repository's path, for a person's eye.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The version of the program that writes the log.
    pub version: String,
}

/// Who speaks in a step. Capitalised in the log, lower case in the rendered document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The host.
    System,
    /// The person.
    User,
    /// The model or the agent it drives.
    Agent,
}

impl Source {
    /// The word of the rendered document.
    pub fn rendered(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Agent => "agent",
        }
    }
}

/// One tool call and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The call's name as the model gave it. Need not be unique in the log: the rendered document tells repeats apart.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; an object, except where a model sent something else.
    pub arguments: Value,
    /// What the tool answered, as text. Raw bytes belong in a `stream` extension.
    pub output: String,
    /// How the call ended, in the caller's word, such as `ok` or `failed`.
    pub outcome: String,
    /// How long it took.
    pub milliseconds: u64,
    /// Why the model made it, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Anything more about the call.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// What one model request used. Every part is absent where unknown, never zero; a request whose usage nobody reported
/// is recorded as `Tokens::default()`, which keeps the totals of the rendered document absent too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Tokens in, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens out, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// How many of `input` came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// How many of `output` were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// The price in millionths of a United States dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
}

/// One step of a run, before it is stamped with its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Who speaks.
    pub source: Source,
    /// What is said; may be empty where an extension says it all.
    pub message: String,
    /// The model's reasoning, where it shows any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The model that served the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tool call made in the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// What the step's model request used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// How long the step took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// Structured observations by name (facts 9.2, 9.3).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

impl Step {
    /// A step with nothing but its message.
    pub fn new(source: Source, message: impl Into<String>) -> Self {
        Self {
            source,
            message: message.into(),
            reasoning: None,
            model: None,
            call: None,
            tokens: None,
            milliseconds: None,
            extensions: Map::new(),
        }
    }

    /// This step with the extension `name`.
    ///
    /// # Errors
    /// [`Error::BadStep`] where `content` has no JSON form, or the step has the extension already.
    pub fn with_extension(mut self, name: &str, content: &impl Serialize) -> Result<Self, Error> {
        let content = serde_json::to_value(content).map_err(|error| Error::BadStep {
            reason: format!("the extension `{name}` has no JSON form: {error}"),
        })?;
        if self.extensions.insert(name.to_owned(), content).is_some() {
            return Err(Error::BadStep {
                reason: format!("the step has the extension `{name}` already"),
            });
        }
        Ok(self)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match RESERVED.iter().find(|name| self.extensions.contains_key(**name)) {
            Some(name) => Err(Error::BadStep {
                reason: format!("`{name}` is a part of every step and not the name of an extension"),
            }),
            None => Ok(()),
        }
    }
}

/// A step as the log holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// When it was recorded.
    pub at: Timestamp,
    /// The step.
    pub step: Step,
}

/// Whether `at` has a form every ISO 8601 reader takes.
pub(crate) fn is_writable(at: Timestamp) -> bool {
    (0..=LAST_MILLISECOND).contains(&at.0)
}
