//! Reads a trace's effects and holds them against each other: numbered without gap or repeat, each result with its own
//! intent, and every request's body put together again from its pieces and digested.

use crate::keeper::written_prompt;
use coder_agent::{Cost, Outcome};
use coder_digest::{Digest, json};
use coder_trace::{EffectKind, EffectRecord, PageSize, Reader, ResultRecord};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a trace says happened.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) admission: Option<Value>,
    pub(crate) controller: Option<Value>,
    pub(crate) candidate: Option<Value>,
    /// The trace's own copy of the run's result.
    pub(super) recorded: Option<Value>,
    /// The word of the ending, as summed up.
    pub(super) ending: Option<String>,
    /// What the loop came to, where it ran.
    pub(super) outcome: Option<Outcome>,
    /// Whether the host says that it could not go on.
    pub(super) faulted: bool,
    /// The ends of the journal's ledger that the trace kept.
    pub(super) heads: Vec<Value>,
    pub(super) intents: Vec<EffectRecord>,
    pub(super) results: Vec<ResultRecord>,
}

/// Reads every step once, a page at a time.
pub(crate) fn read(reader: &Reader) -> Result<Effects, String> {
    let mut effects = Effects::default();
    let size = PageSize::default();
    let mut first = 1;
    loop {
        let page = reader.page(first, size).map_err(|error| error.to_string())?;
        if page.is_empty() {
            return Ok(effects);
        }
        first += page.len() as u64;
        for recorded in page {
            let extension = |name: &str| recorded.step.extensions.get(name).cloned();
            effects.admission = effects.admission.or_else(|| extension("admission"));
            effects.controller = effects.controller.or_else(|| extension("controller"));
            effects.candidate = extension("candidate").or(effects.candidate);
            effects.recorded = extension("result").or(effects.recorded);
            effects.faulted |= extension("host_fault").is_some_and(|fault| !fault.is_null());
            if let Some(summary) = extension("adapter_summary") {
                effects.ending = field(&summary, "ending").map(str::to_owned);
                effects.outcome = summary
                    .get("outcome")
                    .and_then(|value| Outcome::deserialize(value).ok());
            }
            effects.heads.extend(extension("journal_head"));
            effects.intents.extend(EffectRecord::of(&recorded.step));
            effects.results.extend(ResultRecord::of(&recorded.step));
        }
    }
}

impl Effects {
    /// Numbers run from 1 without gap or repeat, arguments have their digest, each result answers one intent of its kind;
    /// in a complete trace each intent is answered.
    pub(crate) fn paired(&self, complete: bool) -> Result<(), String> {
        let mut open: BTreeMap<u64, &EffectKind> = BTreeMap::new();
        for (expected, intent) in (1..).zip(&self.intents) {
            if intent.sequence != expected {
                return Err(format!(
                    "effect {} stands where effect {expected} belongs",
                    intent.sequence
                ));
            }
            if json::digest(&intent.arguments) != intent.arguments_digest {
                return Err(format!("the arguments of effect {expected} are not those digested"));
            }
            open.insert(intent.sequence, &intent.kind);
        }
        let mut answered = BTreeSet::new();
        for result in &self.results {
            if open.get(&result.sequence) != Some(&&result.kind) {
                return Err(format!(
                    "the result of effect {} answers no intent of its kind",
                    result.sequence
                ));
            }
            if !answered.insert(result.sequence) {
                return Err(format!("effect {} has two results", result.sequence));
            }
        }
        match open.keys().find(|sequence| !answered.contains(sequence)) {
            Some(sequence) if complete => Err(format!("effect {sequence} has no result")),
            Some(_) | None => Ok(()),
        }
    }

    /// What the kernel enforced for each command that ran, in order.
    pub(crate) fn enforced(&self) -> impl Iterator<Item = &Value> {
        let results = self.results.iter().filter(|result| result.kind == EffectKind::Command);
        results.filter_map(|result| result.result.get("enforced"))
    }

    /// Whether some command's processes were not proved gone.
    pub(super) fn leaves_processes(&self) -> bool {
        let clear = |result: &ResultRecord| result.result.get("group_clear").and_then(Value::as_bool);
        self.results.iter().any(|result| clear(result) == Some(false))
    }

    /// What all requests cost together; nothing where some kind of effect may cost without saying how much.
    pub(super) fn cost(&self) -> Option<Cost> {
        let mut total = Cost::FREE;
        for result in &self.results {
            match &result.kind {
                EffectKind::Generation | EffectKind::Decision => {
                    total = total.plus(Cost::deserialize(result.result.get("cost")?).ok()?);
                }
                EffectKind::Read | EffectKind::Command | EffectKind::ContainerCommand => {}
                // A part of the generation that it stands in.
                EffectKind::OpenaiRequest
                | EffectKind::ScriptedRequest
                | EffectKind::AnthropicRequest
                | EffectKind::CodexRequest
                | EffectKind::ClaudeRequest => {}
                EffectKind::AgentSession(_) | EffectKind::AgentPrompt(_) => return None,
            }
        }
        Some(total)
    }

    #[cfg(test)]
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Value> {
        self.intents.iter().map(|intent| &intent.arguments)
    }

    #[cfg(test)]
    pub(super) fn add_command(&mut self, result: Value) {
        self.results.push(ResultRecord {
            sequence: self.results.len() as u64 + 1,
            kind: EffectKind::Command,
            result,
        });
    }

    #[cfg(test)]
    pub(crate) fn last_arguments(&mut self) -> &mut Value {
        &mut self.intents.last_mut().unwrap().arguments
    }

    /// Every request's exact bytes come out of the trace again.
    pub(crate) fn requests_rebuild(&self) -> Result<(), String> {
        let mut frames: BTreeMap<u64, (String, String)> = BTreeMap::new();
        let mut prompts: BTreeMap<u64, String> = BTreeMap::new();
        for intent in self.intents.iter().filter(|intent| is_request(&intent.kind)) {
            let wrong = |what: &str| format!("the request of effect {} {what}", intent.sequence);
            let body = intent.arguments.get("body").ok_or_else(|| wrong("has no body"))?;
            let expected: Digest = field(&intent.arguments, "body_digest")
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| wrong("has no body digest"))?;
            let text = match body.get("whole").and_then(Value::as_str) {
                Some(whole) => whole.to_owned(),
                None => {
                    let frame = match (field(body, "before_prompt"), field(body, "after_prompt")) {
                        (Some(before), Some(after)) => (before.to_owned(), after.to_owned()),
                        _ => body
                            .get("around_prompt_of")
                            .and_then(Value::as_u64)
                            .and_then(|effect| frames.get(&effect))
                            .cloned()
                            .ok_or_else(|| wrong("has no frame"))?,
                    };
                    let prompt = prompt(body, &prompts).ok_or_else(|| wrong("continues a prompt that is not there"))?;
                    let written = written(body, &prompt).ok_or_else(|| wrong("cuts its prompt where it cannot be"))?;
                    let text = format!("{}{written}{}", frame.0, frame.1);
                    frames.insert(intent.sequence, frame);
                    prompts.insert(intent.sequence, prompt);
                    text
                }
            };
            if Digest::of(text.as_bytes()) != expected {
                return Err(wrong("does not have the digest recorded with it"));
            }
        }
        Ok(())
    }
}

fn prompt(body: &Value, earlier: &BTreeMap<u64, String>) -> Option<String> {
    let prompt = body.get("prompt")?;
    let new = field(prompt, "new")?;
    let text = match prompt.get("continues").and_then(Value::as_u64) {
        None => new.to_owned(),
        Some(effect) => {
            let bytes = usize::try_from(prompt.get("continues_bytes")?.as_u64()?).ok()?;
            format!("{}{new}", earlier.get(&effect)?.get(..bytes)?)
        }
    };
    let digest: Digest = field(prompt, "digest")?.parse().ok()?;
    (Digest::of(text.as_bytes()) == digest).then_some(text)
}

/// The prompt as it stood in the body, in pieces where it was cut.
fn written(body: &Value, prompt: &str) -> Option<String> {
    let Some(cuts) = body.pointer("/prompt/cuts") else {
        return written_prompt(prompt, &[], "");
    };
    let cuts: Vec<usize> = serde_json::from_value(cuts.clone()).ok()?;
    written_prompt(prompt, &cuts, body.pointer("/prompt/between")?.as_str()?)
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

fn is_request(kind: &EffectKind) -> bool {
    match kind {
        EffectKind::OpenaiRequest
        | EffectKind::ScriptedRequest
        | EffectKind::AnthropicRequest
        | EffectKind::CodexRequest
        | EffectKind::ClaudeRequest => true,
        EffectKind::Generation
        | EffectKind::Decision
        | EffectKind::Read
        | EffectKind::Command
        | EffectKind::ContainerCommand
        | EffectKind::AgentSession(_)
        | EffectKind::AgentPrompt(_) => false,
    }
}

#[cfg(test)]
#[path = "effects_tests.rs"]
mod tests;
