//! One recorded step as a step of the ATIF document. What the document allows on agent steps only (model, reasoning,
//! calls, metrics) goes under `extra` on others, so nothing recorded is lost. An unknown figure is absent, never zero.

use crate::step::{Call, RecordedStep, Source, Tokens};
use serde_json::{Map, Value, json};

/// The document's form of step number `step_id`; `call_name` replaces a call name that an earlier step took.
pub(crate) fn render_step(step_id: u64, recorded: &RecordedStep, call_name: Option<&str>) -> Value {
    let step = &recorded.step;
    let mut rendered = Map::new();
    let mut extra = step.extensions.clone();
    rendered.insert("step_id".into(), step_id.into());
    rendered.insert("timestamp".into(), recorded.at.to_string().into());
    rendered.insert("source".into(), step.source.rendered().into());
    rendered.insert("message".into(), step.message.clone().into());
    let agent = step.source == Source::Agent;
    let mut place = |on_agent: &str, elsewhere: &str, value: Value| match agent {
        true => rendered.insert(on_agent.into(), value),
        false => extra.insert(elsewhere.into(), value),
    };
    if let Some(model) = &step.model {
        place("model_name", "model", model.clone().into());
    }
    if let Some(reasoning) = &step.reasoning {
        place("reasoning_content", "reasoning", reasoning.clone().into());
    }
    if let Some(tokens) = &step.tokens
        && (!agent || *tokens != Tokens::default())
    {
        place("metrics", "tokens", metrics(tokens));
    }
    if let Some(call) = &step.call {
        let (tool_call, observation) = render_call(call, call_name);
        if agent {
            place("tool_calls", "call", json!([tool_call]));
            place("observation", "call", observation);
        } else {
            place(
                "tool_calls",
                "call",
                json!({"call": tool_call, "observation": observation}),
            );
        }
    }
    if let Some(milliseconds) = step.milliseconds {
        extra.insert("milliseconds".into(), milliseconds.into());
    }
    if !extra.is_empty() {
        rendered.insert("extra".into(), Value::Object(extra));
    }
    Value::Object(rendered)
}

fn render_call(call: &Call, call_name: Option<&str>) -> (Value, Value) {
    let id = call_name.unwrap_or(&call.id);
    let mut extra = Map::new();
    if call_name.is_some() {
        extra.insert("recorded_id".into(), call.id.clone().into());
    }
    if let Some(purpose) = &call.purpose {
        extra.insert("purpose".into(), purpose.clone().into());
    }
    if !call.extra.is_empty() {
        extra.insert("call".into(), Value::Object(call.extra.clone()));
    }
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        // The document wants an object; a model may have sent anything.
        other => json!({ "value": other }),
    };
    let mut tool_call = json!({"tool_call_id": id, "function_name": call.name, "arguments": arguments});
    if !extra.is_empty() {
        tool_call["extra"] = Value::Object(extra);
    }
    let observation = json!({"results": [{
        "source_call_id": id,
        "content": call.output,
        "extra": {"outcome": call.outcome, "milliseconds": call.milliseconds},
    }]});
    (tool_call, observation)
}

fn metrics(tokens: &Tokens) -> Value {
    let mut metrics = Map::new();
    let counts = [
        ("prompt_tokens", tokens.input),
        ("completion_tokens", tokens.output),
        ("cached_tokens", tokens.cached),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            metrics.insert(name.into(), count.into());
        }
    }
    if let Some(cost) = tokens.cost_microusd {
        metrics.insert("cost_usd".into(), dollars(cost));
    }
    if let Some(reasoning) = tokens.reasoning {
        metrics.insert("extra".into(), json!({ "reasoning_tokens": reasoning }));
    }
    Value::Object(metrics)
}

/// Millionths as a decimal number of dollars.
pub(crate) fn dollars(microusd: u64) -> Value {
    // Exact up to 2^53 millionths, which is nine thousand million dollars.
    json!(microusd as f64 / 1e6)
}
