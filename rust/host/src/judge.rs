//! Who answers the loop's advisory questions: Jev, where the grant names its endpoint and this computer has a key, and every
//! request and answer is in the trace; else nobody, which is said once and at every step. Judgments are advisory: without them the
//! loop runs as before (specification, "Prepare the request and grant").

use crate::Error;
use crate::configuration::{Configuration, IN_PROCESS};
use crate::confine::Environment;
use crate::recorder::Recorder;
use coder_agent::{Cost, HostFault, Judge, JudgeState, Judgment, NO_JUDGE_NOTE};
use coder_digest::{Digest, ModelName, json};
use coder_models::{Answers, DecisionFailure, Endpoint, Jev, JevConfig, Secret};
use coder_process::Cancel;
use coder_trace::{Bytes, EffectKind, Source, Step};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

/// Where Jev is, unless the environment names another place.
const USUAL_ENDPOINT: &str = "https://api.typesafe.ai";
/// Its usual model. An alias: an answer names the version behind it, which is another name.
const USUAL_MODEL: &str = "jev-latest";
/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest key file.
const KEY_FILE: json::Limit = json::Limit::COMMAND;

/// Why this run asks for no decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// This computer has no key.
    NoKey,
    /// It has one, and the grant names no endpoint that may be asked.
    NotGranted,
}

/// Who judges a run.
pub(crate) enum Decisions {
    /// Nobody.
    Unavailable(Unavailable),
    /// Jev.
    Asked(Box<Jev>),
}

/// The key of this computer: the variable, then the file in the home directory.
fn key(environment: &Environment<'_>) -> Option<Secret> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(key) = set("TYPESAFE_API_KEY") {
        return Some(Secret::new(key.to_str()?));
    }
    let path = PathBuf::from(set("HOME")?).join(".openagents/jev.json");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    let bounded = file.take(KEY_FILE.0 as u64 + 1).read_to_end(&mut bytes);
    let value = bounded.ok().and_then(|_| json::parse(&bytes, KEY_FILE).ok())?;
    let key = value.get("api_key").and_then(Value::as_str);
    key.filter(|key| !key.is_empty()).map(Secret::new)
}

/// Where this computer's Jev is, and which model it asks for.
fn live(environment: &Environment<'_>) -> (String, String) {
    let named = |name: &str, usual: &str| {
        let value = environment(name).and_then(|value| value.into_string().ok());
        value
            .filter(|value| !value.is_empty())
            .unwrap_or_else(|| usual.to_owned())
    };
    let endpoint = named("TYPESAFE_BASE_URL", USUAL_ENDPOINT);
    let model = named("TYPESAFE_DEFAULT_MODEL", USUAL_MODEL);
    (endpoint.trim_end_matches('/').to_owned(), model)
}

/// What this computer could do, for a look at it without a grant.
pub(crate) fn standing(environment: &Environment<'_>) -> String {
    match key(environment) {
        None => NO_JUDGE_NOTE.to_owned(),
        Some(_) => {
            let (endpoint, model) = live(environment);
            format!("a Jev key, for grants that name {endpoint} and {model}")
        }
    }
}

impl Decisions {
    /// Who judges under this grant, here; nothing is sent.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the grant names another endpoint or model than this computer's client has, [`Error::Decisions`]
    /// when that client cannot be made.
    pub(crate) fn of(configuration: &Configuration, environment: &Environment<'_>) -> Result<Self, Error> {
        let Some(key) = key(environment) else {
            return Ok(Self::Unavailable(Unavailable::NoKey));
        };
        // The grant is the authority: one that names no endpoint admits no request, whatever key is here.
        if configuration.decision_endpoint == IN_PROCESS {
            return Ok(Self::Unavailable(Unavailable::NotGranted));
        }
        let (endpoint, model) = live(environment);
        let granted = configuration.decision_endpoint.trim_end_matches('/');
        if granted != endpoint {
            return Err(Error::mismatch(
                "decision_endpoint",
                &granted,
                "the Jev client's",
                &endpoint,
            ));
        }
        if configuration.decision_model != model {
            return Err(Error::mismatch(
                "decision_model",
                &configuration.decision_model,
                "the Jev client's",
                &model,
            ));
        }
        let refused = |source| Error::Decisions { source };
        let model = ModelName::new(model).map_err(|error| crate::grant::field("decision_model", error.to_string()))?;
        let jev = Jev::new(JevConfig {
            endpoint: Endpoint::parse(&endpoint).map_err(refused)?,
            model,
            key,
            timeout: TIMEOUT,
        });
        Ok(Self::Asked(Box::new(jev.map_err(refused)?)))
    }

    /// Says in the trace that no decisions will be asked for.
    pub(crate) fn record(&self, recorder: &Recorder) -> Result<(), HostFault> {
        match self {
            Self::Unavailable(reason) => recorder.note(
                reason.note(),
                "decision_unavailable",
                &json!({ "reason": reason.word() }),
            ),
            Self::Asked(_) => Ok(()),
        }
    }
}

impl Unavailable {
    /// The stable word.
    fn word(self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::NotGranted => "not_granted",
        }
    }

    /// The sentence.
    fn note(self) -> &'static str {
        match self {
            Self::NoKey => NO_JUDGE_NOTE,
            Self::NotGranted => "the grant names no decision endpoint, so the Jev key of this computer is not used",
        }
    }
}

/// The loop's judge, whose every request is in the trace.
pub(crate) struct Judging {
    pub(crate) decisions: Decisions,
    pub(crate) recorder: Recorder,
    pub(crate) cancel: Cancel,
}

impl Judge for Judging {
    fn judge(&mut self, state: &JudgeState) -> Judgment {
        let jev = match &self.decisions {
            Decisions::Unavailable(reason) => return Judgment::unavailable(reason.note(), Cost::FREE),
            Decisions::Asked(jev) => jev,
        };
        let body = jev.body(state);
        let arguments = json!({
            "step": state.step,
            "endpoint": jev.url(),
            "model": jev.model(),
            "question_set": coder_agent::question_set_digest(),
            "body_digest": Digest::of(body.as_bytes()),
            "body": body,
        });
        let intent = match self
            .recorder
            .intend("A decision is asked for.", EffectKind::Decision, arguments)
        {
            Ok(intent) => intent,
            Err(fault) => return Judgment::unavailable(fault.0, Cost::FREE),
        };
        let decision = jev.decide(body, &|| self.cancel.is_cancelled());
        let error = match &decision.answers {
            Ok(_) => None,
            Err(DecisionFailure::Failed(words) | DecisionFailure::WrongModel(words)) => Some(words.as_str()),
        };
        let response = json!({
            "model": decision.model,
            "request_id": decision.request_id,
            "status": decision.status,
            "body_bytes": decision.body.len(),
            "body": Bytes(decision.body.clone()),
            "input_tokens": decision.input_tokens,
            "output_tokens": decision.output_tokens,
        });
        let result =
            json!({ "model": decision.model, "status": decision.status, "cost": decision.cost, "error": error });
        let mut step = Step::new(Source::System, "The decision ended.");
        step.extensions.insert("decision_response".to_owned(), response);
        if let Err(fault) = self.recorder.conclude(step, intent, &result) {
            return Judgment::unavailable(fault.0, decision.cost);
        }
        if let Err(DecisionFailure::WrongModel(words)) = &decision.answers {
            // Nobody admitted who answered; the next record meets this fault and ends the run.
            self.recorder.declare_fault(words.clone());
        }
        match decision.answers {
            Ok(Answers {
                done,
                progress,
                repeating,
                complete,
            }) => Judgment {
                progress,
                repeating,
                done,
                complete,
                note: None,
                cost: decision.cost,
            },
            Err(DecisionFailure::Failed(words) | DecisionFailure::WrongModel(words)) => {
                Judgment::unavailable(words, decision.cost)
            }
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
