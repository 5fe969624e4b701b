//! The record of requests. The prompt grows by its end only, so each record holds what is new and names the rest by digest;
//! the exact bytes of every request can be put together again from the trace alone, which `verify` does.

use crate::recorder::Recorder;
use coder_agent::{Cost, HostFault};
use coder_digest::Digest;
use coder_failover::UsageWindow;
use coder_models::{AttemptKind, AttemptRequest, AttemptResponse, Attempts};
use coder_trace::{EffectKind, Intent, Source, Step, Tokens};
use serde_json::{Value, json};

/// Keeps the record of requests.
pub(crate) struct Keeper {
    recorder: Recorder,
    open: Option<Intent>,
    /// The body around the prompt, as last recorded in full, with the effect that holds it.
    frame: Option<(u64, String, String)>,
    /// The effect that recorded the last prompt, unless its body was kept whole.
    last: Option<u64>,
    /// What the last response said of the provider's windows.
    windows: Vec<UsageWindow>,
}

impl Keeper {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            open: None,
            frame: None,
            last: None,
            windows: Vec::new(),
        }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What the last response said of the provider's windows, once.
    pub(crate) fn take_windows(&mut self) -> Vec<UsageWindow> {
        std::mem::take(&mut self.windows)
    }

    /// The body split around the prompt's JSON text, where it stands in it exactly once.
    fn frame(request: &AttemptRequest<'_>) -> Option<(String, String)> {
        let prompt = written_prompt(request.prompt, request.form.cuts, request.form.between)?;
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
        let mut prompt = json!({
            "digest": Digest::of(request.prompt.as_bytes()),
            "bytes": request.prompt.len(),
            "continues": continues,
            "continues_bytes": known,
            "new": new,
        });
        if let (Some(fields), false) = (prompt.as_object_mut(), request.form.cuts.is_empty()) {
            fields.insert("cuts".to_owned(), json!(request.form.cuts));
            fields.insert("between".to_owned(), json!(request.form.between));
        }
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
            AttemptKind::AnthropicRequest => EffectKind::AnthropicRequest,
            AttemptKind::CodexRequest => EffectKind::CodexRequest,
            AttemptKind::ClaudeRequest => EffectKind::ClaudeRequest,
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
            // A lower bound is no amount; it is in the result below.
            cost_microusd: match response.cost {
                Cost::Known(amount) => Some(amount),
                Cost::AtLeast(_) | Cost::Unknown => None,
            },
        });
        self.windows.clone_from(&response.windows);
        let mut result = json!({
            "step": response.step,
            "number": response.number,
            "status": response.status,
            "served_model": response.served_model,
            "response_id": response.response_id,
            "items": response.items,
            "cost": response.cost,
            "body_bytes": response.body_bytes,
            "error": response.error,
        });
        if let Some(fields) = result.as_object_mut() {
            if let Some(date) = &response.list_prices {
                fields.insert("list_prices".to_owned(), json!(date));
            }
            if !response.windows.is_empty() {
                fields.insert("windows".to_owned(), json!(response.windows));
            }
        }
        self.recorder.conclude(step, intent, &result)
    }
}

/// The prompt as it stands in a body: one JSON string, with `between` put in at each of `cuts`. Nothing where a cut is no place
/// in it.
pub(crate) fn written_prompt(prompt: &str, cuts: &[usize], between: &str) -> Option<String> {
    let mut written = String::with_capacity(prompt.len() + prompt.len() / 16 + 2);
    let mut from = 0;
    written.push('"');
    for to in cuts.iter().copied().chain([prompt.len()]) {
        if from > 0 {
            written.push_str(between);
        }
        let piece = Value::from(prompt.get(from..to)?).to_string();
        written.push_str(piece.get(1..piece.len() - 1)?);
        from = to;
    }
    written.push('"');
    Some(written)
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
