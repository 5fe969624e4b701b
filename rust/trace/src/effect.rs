//! Effects in the log (facts 9.3): an intent is on disk before its act, and its result names it. One counter per log,
//! from 1, moved only after an intent is retained. An [`Intent`] is the permission to act and the only way to record a
//! result; while an intent or a result failed to be retained, nothing but that very record is taken.

use crate::error::Error;
use crate::step::Step;
use crate::writer::{Appended, Writer};
use coder_digest::{Digest, Identifier, json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

const INTENT: &str = "effect";
const RESULT: &str = "effect_result";
const CARRIED: &str = "carried";
const SESSION: &str = "_session";
const PROMPT: &str = "_prompt";

/// What an effect does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EffectKind {
    /// The next action is asked of a model, by whatever route.
    Generation,
    /// A judgment is asked.
    Decision,
    /// One request to Codex.
    CodexRequest,
    /// One request to Claude Code.
    ClaudeRequest,
    /// One request to the Anthropic interface.
    AnthropicRequest,
    /// One request to an OpenAI-compatible endpoint.
    OpenaiRequest,
    /// One request to a scripted model.
    ScriptedRequest,
    /// A confined file read.
    Read,
    /// A command in the boundary.
    Command,
    /// A command in a container.
    ContainerCommand,
    /// An agent that takes whole turns opens a session.
    AgentSession(Identifier),
    /// Such an agent is prompted.
    AgentPrompt(Identifier),
}

/// A word that names no kind of effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of effect")]
pub struct EffectKindError;

impl EffectKind {
    const FIXED: [(Self, &'static str); 10] = [
        (Self::Generation, "generation"),
        (Self::Decision, "decision"),
        (Self::CodexRequest, "codex_request"),
        (Self::ClaudeRequest, "claude_request"),
        (Self::AnthropicRequest, "anthropic_request"),
        (Self::OpenaiRequest, "openai_request"),
        (Self::ScriptedRequest, "scripted_request"),
        (Self::Read, "read"),
        (Self::Command, "command"),
        (Self::ContainerCommand, "container_command"),
    ];
}

impl fmt::Display for EffectKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AgentSession(agent) => write!(formatter, "{agent}{SESSION}"),
            Self::AgentPrompt(agent) => write!(formatter, "{agent}{PROMPT}"),
            fixed => match Self::FIXED.iter().find(|(kind, _)| kind == fixed) {
                Some((_, word)) => formatter.write_str(word),
                None => Err(fmt::Error),
            },
        }
    }
}

impl FromStr for EffectKind {
    type Err = EffectKindError;

    fn from_str(text: &str) -> Result<Self, EffectKindError> {
        if let Some((kind, _)) = Self::FIXED.iter().find(|(_, word)| *word == text) {
            return Ok(kind.clone());
        }
        let agent = |name: &str| Identifier::new(name).map_err(|_| EffectKindError);
        if let Some(name) = text.strip_suffix(SESSION) {
            Ok(Self::AgentSession(agent(name)?))
        } else if let Some(name) = text.strip_suffix(PROMPT) {
            Ok(Self::AgentPrompt(agent(name)?))
        } else {
            Err(EffectKindError)
        }
    }
}

impl Serialize for EffectKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The `effect` extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectRecord {
    /// Its number in the log.
    pub sequence: u64,
    /// What it does.
    pub kind: EffectKind,
    /// With what.
    pub arguments: Value,
    /// The value digest of `arguments`.
    #[serde(with = "coder_digest::bare")]
    pub arguments_digest: Digest,
}

/// The `effect_result` extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultRecord {
    /// The effect's number.
    pub sequence: u64,
    /// The effect's kind.
    pub kind: EffectKind,
    /// What came of it.
    pub result: Value,
}

impl EffectRecord {
    /// The intent a step records, if it records a well-formed one.
    pub fn of(step: &Step) -> Option<Self> {
        step.extensions
            .get(INTENT)
            .and_then(|content| Self::deserialize(content).ok())
    }
}

impl ResultRecord {
    /// The result a step records, if it records a well-formed one.
    pub fn of(step: &Step) -> Option<Self> {
        step.extensions
            .get(RESULT)
            .and_then(|content| Self::deserialize(content).ok())
    }
}

/// A retained intent: the act may begin. It is spent on its result.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an intent without a result leaves the effect unknown"]
pub struct Intent {
    sequence: u64,
    kind: EffectKind,
    log: Digest,
    appended: Appended,
}

impl Intent {
    /// The effect's number, which `process` and `stream` extensions name.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// What the effect does.
    pub fn kind(&self) -> &EffectKind {
        &self.kind
    }

    /// Where it is recorded.
    pub fn appended(&self) -> Appended {
        self.appended
    }
}

/// A result that was not retained, with the intent it belongs to, to try again with.
#[derive(Debug, thiserror::Error)]
#[error("the result of effect {} was not retained", intent.sequence)]
pub struct Unconcluded {
    /// The intent, unspent.
    pub intent: Intent,
    /// What failed.
    #[source]
    pub error: Error,
}

/// The effects of one log.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    retained: u64,
    /// The intent that failed to be retained, by kind and arguments.
    due_intent: Option<(EffectKind, Digest)>,
    /// The results that did, by number. More than one effect may be under way.
    due_results: BTreeSet<u64>,
}

impl Effects {
    /// Only [`Writer::intend`] and [`Writer::conclude`] write the two extensions.
    pub(crate) fn refuse_in(step: &Step) -> Result<(), Error> {
        match [INTENT, RESULT]
            .iter()
            .find(|name| step.extensions.contains_key(**name))
        {
            Some(name) => Err(Error::BadStep {
                reason: format!("`{name}` is recorded through an intent only"),
            }),
            None => Ok(()),
        }
    }

    /// A step of an earlier turn with its effect records under `carried`: they are of that turn's count, not this one's.
    pub(crate) fn carry(step: &Step) -> Result<Step, Error> {
        let mut step = step.clone();
        let mut carried = Map::new();
        for name in [INTENT, RESULT] {
            if let Some(record) = step.extensions.remove(name) {
                carried.insert(name.to_owned(), record);
            }
        }
        if carried.is_empty() {
            return Ok(step);
        }
        step.with_extension(CARRIED, &carried)
    }

    fn admit(&self, due: &(EffectKind, Digest)) -> Result<(), Error> {
        if let Some(sequence) = self.due_results.first() {
            return Err(Error::Unretained { sequence: *sequence });
        }
        match &self.due_intent {
            Some(other) if other != due => Err(Error::Unretained {
                sequence: self.retained + 1,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

impl Writer {
    /// Records the intent of an effect in `step`; the act may begin when this returns. After a failure only the same
    /// intent, by kind and arguments, may be tried again, with the same number.
    ///
    /// # Errors
    /// As [`Writer::append`], and [`Error::Unretained`] while another record of an effect is due.
    pub fn intend(&mut self, step: Step, kind: EffectKind, arguments: Value) -> Result<Intent, Error> {
        let arguments_digest = json::digest(&arguments);
        let due = (kind.clone(), arguments_digest);
        self.effects.admit(&due)?;
        Effects::refuse_in(&step)?;
        let sequence = self.effects.retained + 1;
        let step = step.with_extension(
            INTENT,
            &EffectRecord {
                sequence,
                kind: kind.clone(),
                arguments,
                arguments_digest,
            },
        )?;
        self.effects.due_intent = Some(due);
        let appended = self.append_ordinary(self.now(), &step)?;
        self.effects.due_intent = None;
        self.effects.retained = sequence;
        Ok(Intent {
            sequence,
            kind,
            log: self.identity(),
            appended,
        })
    }

    /// Records the result of an effect in `step` and spends its intent. After a failure the intent comes back, and no
    /// other effect is admitted before its result is retained.
    ///
    /// # Errors
    /// [`Unconcluded`] with the reasons of [`Writer::append`], or [`Error::ForeignIntent`].
    pub fn conclude(&mut self, step: Step, intent: Intent, result: &Value) -> Result<Appended, Box<Unconcluded>> {
        self.try_conclude(step, &intent, result)
            .map_err(|error| Box::new(Unconcluded { intent, error }))
    }

    fn try_conclude(&mut self, step: Step, intent: &Intent, result: &Value) -> Result<Appended, Error> {
        let sequence = intent.sequence;
        if intent.log != self.identity() {
            return Err(Error::ForeignIntent { sequence });
        }
        Effects::refuse_in(&step)?;
        let kind = intent.kind.clone();
        let step = step.with_extension(
            RESULT,
            &ResultRecord {
                sequence,
                kind,
                result: result.clone(),
            },
        )?;
        let answer = self.append_ordinary(self.now(), &step);
        match answer {
            Ok(_) => self.effects.due_results.remove(&sequence),
            Err(_) => self.effects.due_results.insert(sequence),
        };
        answer
    }
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
