//! Generation with its evidence: builds the client a grant names, and keeps the record of every request. The prompt grows
//! by its end only, so each record holds what is new and names the rest by digest; the exact bytes of every request can
//! be put together again from the trace alone, which `verify` does.

use crate::configuration::{Generation, Provider, Route};
use crate::progress::{Progress, Watch};
use crate::recorder::Recorder;
use crate::{Error, confine::Environment};
use coder_agent::{Cost, Generate, Generated, GenerationFailure, GenerationRequest, HostFault};
use coder_digest::{Clock, Digest};
use coder_models::{
    AttemptKind, AttemptRequest, AttemptResponse, Attempts, Client, Endpoint, OpenAi, OpenAiConfig, Script, Scripted,
    Secret,
};
use coder_process::Cancel;
use coder_trace::{EffectKind, Intent, Source, Step, Tokens};
use serde_json::{Value, json};
use std::sync::Arc;

/// Refuses a provider that this version has no client for.
pub(crate) fn check_client_exists(provider: Provider) -> Result<(), Error> {
    match provider {
        Provider::Openai | Provider::Scripted => Ok(()),
        Provider::Codex
        | Provider::Claude
        | Provider::Devin
        | Provider::Opencode
        | Provider::Grok
        | Provider::Synthetic => Err(Error::ProviderNotSupported { provider }),
    }
}

/// Builds the client of a route; nothing is sent. The key is read from its variable here and goes nowhere else.
pub(crate) fn build_client(
    route: &Route,
    environment: &Environment<'_>,
    clock: &Arc<dyn Clock>,
) -> Result<Box<dyn Client>, Error> {
    let provider = route.provider();
    let refused = |source| Error::Client { provider, source };
    match &route.generation {
        Generation::Scripted { script, script_digest } => {
            let script = Script::read(script, Some(script_digest)).map_err(refused)?;
            Ok(Box::new(Scripted::new(script, route.model.clone())))
        }
        Generation::Openai {
            endpoint,
            api,
            credential_env,
        } => {
            let mut config = OpenAiConfig::new(Endpoint::parse(endpoint).map_err(refused)?, route.model.clone());
            config.protocol = *api;
            config.effort = route.effort;
            config.key = credential_env
                .as_deref()
                .map(|name| read_key(name, environment))
                .transpose()?;
            Ok(Box::new(OpenAi::new(config, Arc::clone(clock)).map_err(refused)?))
        }
        Generation::Codex
        | Generation::Claude
        | Generation::Devin
        | Generation::Opencode
        | Generation::Grok
        | Generation::Synthetic => Err(Error::ProviderNotSupported { provider }),
    }
}

fn read_key(name: &str, environment: &Environment<'_>) -> Result<Secret, Error> {
    let unavailable = |reason: String| Error::ProviderUnavailable {
        provider: Provider::Openai,
        reason,
    };
    let value = environment(name).ok_or_else(|| {
        unavailable(format!(
            "the environment variable `{name}` that the grant names is not set"
        ))
    })?;
    match value.to_str() {
        Some(key) if !key.trim().is_empty() => Ok(Secret::new(key)),
        Some(_) => Err(unavailable(format!("the environment variable `{name}` is empty"))),
        None => Err(unavailable(format!("the environment variable `{name}` is not UTF-8"))),
    }
}

/// The loop's generator: a client whose every request is in the trace.
pub(crate) struct Recording<'a> {
    pub(crate) client: Box<dyn Client>,
    pub(crate) keeper: Keeper,
    pub(crate) cancel: Cancel,
    pub(crate) watch: Watch<'a>,
}

impl Generate for Recording<'_> {
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated {
        let recorder = self.keeper.recorder.clone();
        let arguments = json!({
            "step": request.step,
            "model": self.client.model(),
            "system_digest": Digest::of(request.system.as_bytes()),
            "prompt_digest": Digest::of(request.prompt.as_bytes()),
            "prompt_bytes": request.prompt.len(),
        });
        let intent = match recorder.intend("The model is asked.", EffectKind::Generation, arguments) {
            Ok(intent) => intent,
            Err(fault) => return faulted(fault, None),
        };
        self.watch.tell(&Progress::Asking { step: request.step });
        let cancel = self.cancel.clone();
        let generated = self.client.call(request, &mut self.keeper, &|| cancel.is_cancelled());
        let result = json!({
            "model": generated.model,
            "tokens": generated.tokens,
            "cost": generated.cost,
            "attempts": generated.attempts,
            "failure": generated.reply.as_ref().err(),
        });
        match recorder.conclude(Step::new(Source::System, "The generation ended."), intent, &result) {
            Ok(()) => {}
            Err(fault) => return faulted(fault, Some(generated)),
        }
        if let Err(GenerationFailure::HostFault(fault)) = &generated.reply {
            recorder.declare_fault(fault.0.clone());
        }
        generated
    }
}

/// A generation the host cannot act on; what it used stays counted.
fn faulted(fault: HostFault, generated: Option<Generated>) -> Generated {
    let reply = Err(GenerationFailure::HostFault(fault));
    match generated {
        Some(generated) => Generated { reply, ..generated },
        None => Generated {
            reply,
            model: None,
            tokens: coder_agent::Tokens::UNKNOWN,
            cost: Cost::FREE,
            attempts: 0,
            uncounted_attempts: 0,
        },
    }
}

/// Keeps the record of requests.
pub(crate) struct Keeper {
    recorder: Recorder,
    open: Option<Intent>,
    /// The body around the prompt, as last recorded in full, with the effect that holds it.
    frame: Option<(u64, String, String)>,
    /// The effect that recorded the last prompt, unless its body was kept whole.
    last: Option<u64>,
}

impl Keeper {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            open: None,
            frame: None,
            last: None,
        }
    }

    /// The body split around the prompt's JSON text, where it stands in it exactly once.
    fn frame(request: &AttemptRequest<'_>) -> Option<(String, String)> {
        let prompt = Value::from(request.prompt).to_string();
        let (before, after) = request.body.split_once(&prompt)?;
        (!after.contains(&prompt)).then(|| (before.to_owned(), after.to_owned()))
    }

    /// The body in pieces, and its frame where the prompt could be told from the rest.
    fn body(&self, request: &AttemptRequest<'_>) -> (Value, Option<(String, String)>) {
        let Some((before, after)) = Self::frame(request) else {
            return (json!({ "whole": request.body }), None);
        };
        let continued = self.last.filter(|_| request.previous_bytes > 0);
        let rest = continued.and_then(|effect| Some((effect, request.prompt.get(request.previous_bytes..)?)));
        let (continues, known, new) = match rest {
            Some((effect, new)) => (Some(effect), request.previous_bytes, new),
            None => (None, 0, request.prompt),
        };
        let prompt = json!({
            "digest": Digest::of(request.prompt.as_bytes()),
            "bytes": request.prompt.len(),
            "continues": continues,
            "continues_bytes": known,
            "new": new,
        });
        let body = match &self.frame {
            Some((effect, same_before, same_after)) if *same_before == before && *same_after == after => {
                json!({ "around_prompt_of": effect, "prompt": prompt })
            }
            Some(_) | None => json!({ "before_prompt": before, "after_prompt": after, "prompt": prompt }),
        };
        (body, Some((before, after)))
    }
}

impl Attempts for Keeper {
    fn request(&mut self, request: &AttemptRequest<'_>) -> Result<(), HostFault> {
        let (body, frame) = self.body(request);
        let arguments = json!({
            "step": request.step,
            "number": request.number,
            "endpoint": request.endpoint,
            "model": request.model,
            "effort": request.effort,
            "body_digest": request.body_digest,
            "body_bytes": request.body.len(),
            "body": body,
        });
        let kind = match request.kind {
            AttemptKind::OpenaiRequest => EffectKind::OpenaiRequest,
            AttemptKind::ScriptedRequest => EffectKind::ScriptedRequest,
        };
        let intent = self.recorder.intend("A request is sent.", kind, arguments)?;
        // A body kept whole holds no prompt that a later one could continue.
        self.last = frame.is_some().then(|| intent.sequence());
        if let Some((before, after)) = frame {
            self.frame = Some((intent.sequence(), before, after));
        }
        self.open = Some(intent);
        Ok(())
    }

    fn response(&mut self, response: &AttemptResponse) -> Result<(), HostFault> {
        let Some(intent) = self.open.take() else {
            return Err(self.recorder.declare_fault("a response came without a request"));
        };
        let mut step = Step::new(Source::Agent, response.text.clone());
        step.model.clone_from(&response.served_model);
        step.tokens = Some(Tokens {
            input: response.tokens.input,
            output: response.tokens.output,
            cached: response.tokens.cached,
            reasoning: response.tokens.reasoning,
            cost_microusd: match response.kind {
                AttemptKind::ScriptedRequest => Some(0),
                AttemptKind::OpenaiRequest => None,
            },
        });
        let result = json!({
            "step": response.step,
            "number": response.number,
            "status": response.status,
            "served_model": response.served_model,
            "response_id": response.response_id,
            "items": response.items,
            "body_bytes": response.body_bytes,
            "error": response.error,
        });
        self.recorder.conclude(step, intent, &result)
    }
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
