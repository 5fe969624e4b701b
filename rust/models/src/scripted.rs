//! Plays a recorded conversation. A request that is not what the next turn expects, or one turn too many, fails with the
//! turn and the expectation named; the script never goes on as if it had fitted. Costs nothing, and says so.

use crate::attempts::{
    AttemptError, AttemptErrorKind, AttemptKind, AttemptRequest, AttemptResponse, Attempts, PromptForm,
};
use crate::client::{Client, wrong_model};
use crate::script::{Expectation, Script, ScriptFailure, ScriptReply, ScriptTurn};
use coder_agent::{
    CapacityKind, CapacityRefusal, Cost, Generated, GenerationFailure, GenerationRequest, HostFault, ResetOrigin,
    Tokens,
};
use coder_digest::{Digest, ModelName};
use serde::Serialize;
use std::time::Duration;

/// The endpoint of scripted requests.
pub const SCRIPT_ENDPOINT: &str = "in-process";

/// How long a delay goes on before the stop signal is asked again.
const POLL: Duration = Duration::from_millis(10);
/// How much of an expected text an error repeats, in characters.
const QUOTED_CHARACTERS: usize = 200;

const ZERO: Tokens = Tokens {
    input: Some(0),
    cached: Some(0),
    output: Some(0),
    reasoning: Some(0),
};

/// A client that answers from a script.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    model: ModelName,
    next: usize,
    /// The first mismatch. A run that left its script must not find its way back into it by chance.
    left: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    script: Digest,
    system: &'a str,
    prompt: &'a str,
}

impl Scripted {
    /// A client at the first turn of `script`, which stands for `model`.
    pub fn new(script: Script, model: ModelName) -> Self {
        Self {
            script,
            model,
            next: 0,
            left: None,
        }
    }

    /// How many turns were not played.
    pub fn remaining(&self) -> usize {
        self.script.turns().len().saturating_sub(self.next)
    }

    /// Plays the next turn.
    fn play(&mut self, request: &GenerationRequest<'_>, cancelled: &dyn Fn() -> bool) -> Played {
        if let Some(message) = &self.left {
            return Played::failed(AttemptErrorKind::Script, GenerationFailure::Provider(message.clone()));
        }
        let number = self.next + 1;
        let count = self.script.turns().len();
        let turn = match self.script.turns().get(self.next) {
            Some(turn) => match turn.expect.iter().find(|expectation| !holds(expectation, request)) {
                Some(broken) => Err(format!("turn {number} of the script expected {}", words(broken))),
                None => Ok(turn),
            },
            None => Err(format!("the script has {count} turns, and turn {number} was asked for")),
        };
        let turn = match turn {
            Ok(turn) => turn,
            Err(message) => {
                self.left = Some(message.clone());
                return Played::failed(AttemptErrorKind::Script, GenerationFailure::Provider(message));
            }
        };
        self.next += 1;
        if !waited(turn, cancelled) {
            return Played::failed(AttemptErrorKind::Cancelled, GenerationFailure::Cancelled);
        }
        let model = turn.model.as_ref().unwrap_or(&self.model).to_string();
        let (text, failure) = match (&turn.reply, &turn.fail) {
            (Some(ScriptReply::Text(text)), _) => (text.clone(), None),
            (Some(ScriptReply::Action(fields)), _) => (serde_json::Value::from(fields.clone()).to_string(), None),
            (None, Some(ScriptFailure::Capacity { resets_at })) => {
                let refusal = CapacityRefusal {
                    resets_at: *resets_at,
                    origin: resets_at.map(|_| ResetOrigin::Field {
                        name: "resets_at".to_owned(),
                    }),
                    ..CapacityRefusal::without_reset(
                        CapacityKind::UsageLimit,
                        format!("turn {number} of the script refuses for a usage limit"),
                    )
                };
                (
                    String::new(),
                    Some((AttemptErrorKind::Capacity, GenerationFailure::Capacity(refusal))),
                )
            }
            (None, Some(ScriptFailure::Error { message })) => (
                String::new(),
                Some((AttemptErrorKind::Script, GenerationFailure::Provider(message.clone()))),
            ),
            // `Script` admits no such turn.
            (None, None) => (
                String::new(),
                Some((
                    AttemptErrorKind::Script,
                    GenerationFailure::Provider(format!("turn {number} is empty")),
                )),
            ),
        };
        let failure = failure.or_else(|| {
            (model != self.model.as_str())
                .then(|| (AttemptErrorKind::WrongModel, wrong_model(Some(&model), &self.model)))
        });
        Played {
            text,
            failure,
            tokens: turn.usage.map_or(ZERO, Tokens::from),
            model: Some(model),
        }
    }
}

/// What came of a turn; the text stays also when the reply is refused, since a refused response is retained.
struct Played {
    text: String,
    failure: Option<(AttemptErrorKind, GenerationFailure)>,
    tokens: Tokens,
    model: Option<String>,
}

impl Played {
    fn failed(kind: AttemptErrorKind, failure: GenerationFailure) -> Self {
        Self {
            text: String::new(),
            failure: Some((kind, failure)),
            tokens: ZERO,
            model: None,
        }
    }
}

impl Client for Scripted {
    fn model(&self) -> &str {
        self.model.as_str()
    }

    fn call(
        &mut self,
        request: &GenerationRequest<'_>,
        attempts: &mut dyn Attempts,
        cancelled: &dyn Fn() -> bool,
    ) -> Generated {
        let mut generated = Generated {
            reply: Err(GenerationFailure::Cancelled),
            model: None,
            tokens: ZERO,
            cost: Cost::FREE,
            attempts: 0,
            uncounted_attempts: 0,
        };
        let body = Body {
            model: self.model.as_str(),
            script: self.script.digest(),
            system: request.system,
            prompt: request.prompt,
        };
        let body = match serde_json::to_string(&body) {
            Ok(body) => body,
            Err(error) => {
                generated.reply = Err(GenerationFailure::HostFault(HostFault(error.to_string())));
                return generated;
            }
        };
        let intent = attempts.request(&AttemptRequest {
            kind: AttemptKind::ScriptedRequest,
            step: request.step,
            number: 1,
            endpoint: SCRIPT_ENDPOINT,
            model: self.model.as_str(),
            effort: None,
            body_digest: Digest::of(body.as_bytes()),
            body: &body,
            prompt: request.prompt,
            previous_bytes: request.previous_bytes,
            form: PromptForm::WHOLE,
        });
        if let Err(fault) = intent {
            generated.reply = Err(GenerationFailure::HostFault(fault));
            return generated;
        }
        let played = self.play(request, cancelled);
        generated.attempts = 1;
        generated.tokens = played.tokens;
        generated.model.clone_from(&played.model);
        let response = AttemptResponse {
            kind: AttemptKind::ScriptedRequest,
            step: request.step,
            number: 1,
            status: None,
            served_model: played.model,
            response_id: None,
            text: played.text,
            items: Vec::new(),
            tokens: played.tokens,
            cost: Cost::FREE,
            list_prices: None,
            windows: Vec::new(),
            body_bytes: 0,
            error: played.failure.as_ref().map(|(kind, failure)| error_of(*kind, failure)),
        };
        generated.reply = match (attempts.response(&response), played.failure) {
            (Err(fault), _) => Err(GenerationFailure::HostFault(fault)),
            (Ok(()), Some((_, failure))) => Err(failure),
            (Ok(()), None) => Ok(response.text),
        };
        generated
    }
}

fn error_of(kind: AttemptErrorKind, failure: &GenerationFailure) -> AttemptError {
    let (message, capacity) = match failure {
        GenerationFailure::Capacity(refusal) => (refusal.message.clone(), Some(refusal.clone())),
        GenerationFailure::Provider(message) => (message.clone(), None),
        GenerationFailure::Cancelled => ("the run was stopped".to_owned(), None),
        GenerationFailure::HostFault(fault) => (fault.to_string(), None),
    };
    AttemptError {
        kind,
        message,
        capacity,
    }
}

/// Takes the turn's time; false when the run was stopped meanwhile.
fn waited(turn: &ScriptTurn, cancelled: &dyn Fn() -> bool) -> bool {
    let mut left = Duration::from_millis(turn.delay_ms.unwrap_or(0));
    loop {
        if cancelled() {
            return false;
        }
        if left.is_zero() {
            return true;
        }
        let nap = left.min(POLL);
        std::thread::sleep(nap);
        left -= nap;
    }
}

fn holds(expectation: &Expectation, request: &GenerationRequest<'_>) -> bool {
    match expectation {
        Expectation::PromptContains(text) => request.prompt.contains(text.as_str()),
        Expectation::PromptNotContains(text) => !request.prompt.contains(text.as_str()),
        Expectation::NewTextContains(text) => {
            let new = request.prompt.get(request.previous_bytes..).unwrap_or(request.prompt);
            new.contains(text.as_str())
        }
        Expectation::Step(step) => request.step == *step,
    }
}

fn words(expectation: &Expectation) -> String {
    let short = |text: &str| text.chars().take(QUOTED_CHARACTERS).collect::<String>();
    match expectation {
        Expectation::PromptContains(text) => format!("a prompt that contains {:?}", short(text)),
        Expectation::PromptNotContains(text) => format!("a prompt that does not contain {:?}", short(text)),
        Expectation::NewTextContains(text) => format!("new text in the prompt that contains {:?}", short(text)),
        Expectation::Step(step) => format!("step {step}"),
    }
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
