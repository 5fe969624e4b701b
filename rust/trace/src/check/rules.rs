//! The rules that look at more than one field of a document. Written to stand any document: what has the wrong shape is
//! the table's business and is passed over here.

use super::shape::time;
use super::{Faults, Rule};
use serde_json::{Map, Value};
use std::collections::HashSet;

type Object = Map<String, Value>;

pub(super) fn check(document: &Value, pointer: &str, faults: &mut Faults) {
    let Some(document) = document.as_object() else { return };
    let subagents = list(document, "subagent_trajectories");
    let names = subagent_names(subagents, pointer, faults);
    if let Some(Value::Array(steps)) = document.get("steps") {
        check_steps(steps, &names, pointer, faults);
        check_total(document, steps.len(), pointer, faults);
    }
    for (place, subagent) in subagents.iter().enumerate() {
        check(subagent, &format!("{pointer}/subagent_trajectories/{place}"), faults);
    }
}

fn list<'a>(object: &'a Object, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

fn has(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

fn subagent_names<'a>(subagents: &'a [Value], pointer: &str, faults: &mut Faults) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for (place, subagent) in subagents.iter().enumerate() {
        let Some(subagent) = subagent.as_object() else { continue };
        let name = text(subagent, "trajectory_id");
        if !name.is_some_and(|name| names.insert(name)) {
            faults.add(
                format!("{pointer}/subagent_trajectories/{place}/trajectory_id"),
                Rule::SubagentName,
                "an embedded subagent needs a `trajectory_id` that no other one has",
            );
        }
    }
    names
}

fn check_steps(steps: &[Value], subagents: &HashSet<&str>, pointer: &str, faults: &mut Faults) {
    if steps.is_empty() {
        faults.add(
            format!("{pointer}/steps"),
            Rule::NoSteps,
            "a document has at least one step",
        );
    }
    let mut calls = HashSet::new();
    let mut last = None;
    for (place, step) in steps.iter().enumerate() {
        let Some(step) = step.as_object() else { continue };
        let pointer = format!("{pointer}/steps/{place}");
        let number = place as u64 + 1;
        if step
            .get("step_id")
            .is_some_and(|id| id.is_number() && !id.is_f64() && id.as_u64() != Some(number))
        {
            let message = format!("the step is number {number} of the document");
            faults.add(format!("{pointer}/step_id"), Rule::StepOrder, message);
        }
        if let Some(at) = text(step, "timestamp").and_then(time) {
            if last.is_some_and(|last| at < last) {
                let message = "the step is earlier than the one before it";
                faults.add(format!("{pointer}/timestamp"), Rule::TimeBackwards, message);
            }
            last = Some(at);
        }
        check_source(step, &pointer, faults);
        let own = check_calls(step, &mut calls, &pointer, faults);
        check_observation(step, &own, subagents, &pointer, faults);
        check_content(step.get("message"), &format!("{pointer}/message"), faults);
        if let Some(Value::Object(metrics)) = step.get("metrics") {
            let cached = ["cached_tokens", "prompt_tokens"];
            check_cached(metrics, cached, &format!("{pointer}/metrics"), faults);
        }
    }
}

fn check_source(step: &Object, pointer: &str, faults: &mut Faults) {
    const AGENT_ONLY: [&str; 5] = [
        "model_name",
        "reasoning_effort",
        "reasoning_content",
        "tool_calls",
        "metrics",
    ];
    let agent = text(step, "source") == Some("agent");
    for name in AGENT_ONLY {
        if !agent && has(step, name) {
            let message = format!("`{name}` is for agent steps only");
            faults.add(format!("{pointer}/{name}"), Rule::AgentOnly, message);
        }
    }
    if agent && step.get("llm_call_count").and_then(Value::as_u64) == Some(0) {
        for name in ["metrics", "reasoning_content"] {
            if has(step, name) {
                let message = format!("`{name}` cannot be where `llm_call_count` is 0");
                faults.add(format!("{pointer}/{name}"), Rule::NoModelCall, message);
            }
        }
    }
}

fn check_calls<'a>(
    step: &'a Object,
    calls: &mut HashSet<&'a str>,
    pointer: &str,
    faults: &mut Faults,
) -> HashSet<&'a str> {
    let mut own = HashSet::new();
    for (place, call) in list(step, "tool_calls").iter().enumerate() {
        let Some(id) = call.get("tool_call_id").and_then(Value::as_str) else {
            continue;
        };
        own.insert(id);
        if !calls.insert(id) {
            faults.add(
                format!("{pointer}/tool_calls/{place}/tool_call_id"),
                Rule::DuplicateCall,
                "another call of the document has this name",
            );
        }
    }
    own
}

fn check_observation(
    step: &Object,
    own: &HashSet<&str>,
    subagents: &HashSet<&str>,
    pointer: &str,
    faults: &mut Faults,
) {
    let Some(Value::Object(observation)) = step.get("observation") else {
        return;
    };
    for (place, result) in list(observation, "results").iter().enumerate() {
        let Some(result) = result.as_object() else { continue };
        let pointer = format!("{pointer}/observation/results/{place}");
        if text(result, "source_call_id").is_some_and(|id| !own.contains(id)) {
            let message = "the step makes no call of this name";
            faults.add(format!("{pointer}/source_call_id"), Rule::UnknownCall, message);
        }
        check_content(result.get("content"), &format!("{pointer}/content"), faults);
        for (place, reference) in list(result, "subagent_trajectory_ref").iter().enumerate() {
            let Some(reference) = reference.as_object() else {
                continue;
            };
            let embedded = text(reference, "trajectory_id").is_some_and(|id| subagents.contains(id));
            if !embedded && !has(reference, "trajectory_path") {
                faults.add(
                    format!("{pointer}/subagent_trajectory_ref/{place}"),
                    Rule::UnresolvedSubagent,
                    "neither the `trajectory_id` of an embedded subagent nor a `trajectory_path`",
                );
            }
        }
    }
}

fn check_content(content: Option<&Value>, pointer: &str, faults: &mut Faults) {
    let parts = content.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (place, part) in parts.iter().enumerate() {
        let Some(part) = part.as_object() else { continue };
        let media = match part.get("source") {
            Some(Value::Object(source)) => text(source, "media_type"),
            _ => None,
        };
        let (words, source) = (has(part, "text"), has(part, "source"));
        let message = match text(part, "type") {
            Some("text") if !words || source => "a text part has `text` and no `source`",
            Some("image") if words || !source => "an image part has `source` and no `text`",
            Some("audio") if words || !source => "an audio part has `source` and no `text`",
            Some("image") if media.is_some_and(|media| !media.starts_with("image/")) => {
                "an image part has a `media_type` of images"
            }
            Some("audio") if media.is_some_and(|media| !media.starts_with("audio/")) => {
                "an audio part has a `media_type` of audio"
            }
            Some("image")
                if part
                    .get("source")
                    .is_some_and(|source| source.get("duration_sec").is_some()) =>
            {
                "an image has no `duration_sec`"
            }
            _ => continue,
        };
        faults.add(format!("{pointer}/{place}"), Rule::BadContent, message);
    }
}

fn check_total(document: &Object, steps: usize, pointer: &str, faults: &mut Faults) {
    let Some(Value::Object(metrics)) = document.get("final_metrics") else {
        return;
    };
    let pointer = format!("{pointer}/final_metrics");
    if let Some(total) = metrics.get("total_steps").and_then(Value::as_u64)
        && total != steps as u64
    {
        let message = format!("the document has {steps} steps");
        faults.add(format!("{pointer}/total_steps"), Rule::WrongTotal, message);
    }
    check_cached(
        metrics,
        ["total_cached_tokens", "total_prompt_tokens"],
        &pointer,
        faults,
    );
}

fn check_cached(metrics: &Object, [cached, prompt]: [&str; 2], pointer: &str, faults: &mut Faults) {
    let count = |name: &str| metrics.get(name).and_then(Value::as_u64);
    if let (Some(part), Some(whole)) = (count(cached), count(prompt))
        && part > whole
    {
        let message = format!("`{cached}` is a part of `{prompt}` and cannot be more");
        faults.add(format!("{pointer}/{cached}"), Rule::CachedOverPrompt, message);
    }
}
