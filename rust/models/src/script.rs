//! A recorded conversation: replies in order, each with what must be true of the prompt it answers. A closed, strict JSON
//! document, so that the same script means the same run everywhere. Playing it is [`crate::Scripted`]'s.

use crate::error::Error;
use coder_agent::Tokens;
use coder_digest::{Digest, ModelName, json};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The schema of a script.
pub const SCRIPT_SCHEMA: &str = "openagents.microcoder.script.v1";

/// The longest script, in bytes.
const SCRIPT_BYTES: json::Limit = json::Limit::RECORD;

/// A checked script.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Script {
    schema: &'static str,
    turns: Vec<ScriptTurn>,
    #[serde(skip)]
    digest: Digest,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptTurn {
    /// What must be true of the request; all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// The reply. Exactly one of `reply` and `fail` is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ScriptReply>,
    /// The model that is said to have served; the requested one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The tokens that are said to have been used; explicit zeros when absent, since nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ScriptUsage>,
    /// How long the turn takes, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The failure instead of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<ScriptFailure>,
}

/// Something that must be true of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// The prompt holds this text.
    PromptContains(String),
    /// The prompt does not hold this text.
    PromptNotContains(String),
    /// The part of the prompt that is new since the step before holds this text.
    NewTextContains(String),
    /// It is this step.
    Step(u32),
}

/// A reply: an object is sent as its JSON text, a string as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ScriptReply {
    /// The text itself; may be anything, also no JSON.
    Text(String),
    /// An action.
    Action(serde_json::Map<String, Value>),
}

/// Token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptUsage {
    /// Tokens of the prompt.
    pub input: u64,
    /// The cached part of `input`.
    #[serde(default)]
    pub cached: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// The part of `output` that was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl From<ScriptUsage> for Tokens {
    fn from(usage: ScriptUsage) -> Self {
        Self {
            input: Some(usage.input),
            cached: Some(usage.cached),
            output: Some(usage.output),
            reasoning: Some(usage.reasoning),
        }
    }
}

/// A failure instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptFailure {
    /// The provider refuses for a limit.
    Capacity {
        /// When it is lifted, in Unix seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<i64>,
    },
    /// The provider fails.
    Error {
        /// Its words.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    turns: Vec<ScriptTurn>,
}

impl Script {
    /// Reads a script from its file, which must be the one that `expected` names, when given.
    ///
    /// # Errors
    /// [`Error::ReadScript`], [`Error::ScriptDigest`] or, for its contents, as [`Script::parse`].
    pub fn read(path: &Path, expected: Option<&Digest>) -> Result<Self, Error> {
        let read = || {
            let mut bytes = Vec::new();
            // One byte more than allowed, so that the parser sees that it is too large.
            let bound = SCRIPT_BYTES.0 as u64 + 1;
            // Without waiting: a pipe that nobody writes to would be opened for ever.
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            file.take(bound).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|source| Error::ReadScript {
            path: path.to_owned(),
            source,
        })?;
        let actual = Digest::of(&bytes);
        match expected {
            Some(expected) if *expected != actual => Err(Error::ScriptDigest {
                path: path.to_owned(),
                expected: *expected,
                actual,
            }),
            Some(_) | None => Self::parse(&bytes),
        }
    }

    /// Reads a script from its bytes: at most 8 MiB of strict JSON, closed.
    ///
    /// # Errors
    /// [`Error::ScriptJson`], [`Error::ScriptSchema`] or [`Error::ScriptTurn`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let written: Written = json::parse_as(bytes, SCRIPT_BYTES).map_err(|source| Error::ScriptJson { source })?;
        if written.schema != SCRIPT_SCHEMA {
            return Err(Error::ScriptSchema {
                expected: SCRIPT_SCHEMA,
            });
        }
        check(&written.turns)?;
        Ok(Self {
            schema: SCRIPT_SCHEMA,
            turns: written.turns,
            digest: Digest::of(bytes),
        })
    }

    /// Makes a script of turns, such as those of a run that is to be played again.
    ///
    /// # Errors
    /// [`Error::ScriptTurn`] for a turn that says too much or too little.
    pub fn record(turns: impl IntoIterator<Item = ScriptTurn>) -> Result<Self, Error> {
        let mut script = Self {
            schema: SCRIPT_SCHEMA,
            turns: turns.into_iter().collect(),
            digest: Digest::of(b""),
        };
        check(&script.turns)?;
        script.digest = Digest::of(script.to_json()?.as_bytes());
        Ok(script)
    }

    /// The script as JSON text, which [`Script::parse`] reads back to an equal one.
    ///
    /// # Errors
    /// [`Error::ScriptJson`] where a value has no JSON form.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| Error::ScriptJson {
            source: json::Error::Shape {
                reason: error.to_string(),
            },
        })?;
        text.push('\n');
        Ok(text)
    }

    /// The digest of the bytes it was read from or is written as.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its turns.
    pub fn turns(&self) -> &[ScriptTurn] {
        &self.turns
    }
}

fn check(turns: &[ScriptTurn]) -> Result<(), Error> {
    if turns.is_empty() {
        return Err(Error::ScriptTurn {
            turn: 1,
            reason: "is missing: a script has at least one turn",
        });
    }
    for (index, turn) in turns.iter().enumerate() {
        let reason = match (&turn.reply, &turn.fail) {
            (Some(_), Some(_)) => "has both `reply` and `fail`",
            (None, None) => "has neither `reply` nor `fail`",
            (Some(_), None) | (None, Some(_)) => continue,
        };
        return Err(Error::ScriptTurn {
            turn: index + 1,
            reason,
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
