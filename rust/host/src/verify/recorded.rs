//! Holds the journal's result against what the trace says of the same run: field by field with the copy that the trace
//! sealed, and with what follows from the effects, wherever a field follows from them. Time is the one field that nothing
//! else can show; of it only the two copies are compared.

use super::effects::Effects;
use coder_agent::{Cost, Outcome};
use coder_digest::Identifier;
use coder_journal::{BOUNDED_COMMAND, CostStatus, OWNER_PROCESS_ENDED, RunResult};
use serde_json::Value;

/// What is written after the copy in the trace is sealed, or may still turn true then.
const SEALED_LATER: [&str; 2] = ["trace_digest", "output_incomplete"];

/// Why the result cannot be that of the trace.
pub(super) fn result(effects: &Effects, result: &RunResult, adapter: &Identifier) -> Result<(), String> {
    if result.ending == OWNER_PROCESS_ENDED {
        return closed_by_another(result);
    }
    match &effects.recorded {
        Some(recorded) => {
            copied(recorded, result)?;
            follows(effects, result, adapter)
        }
        // The last step itself was not retained, which the result has to admit.
        None if result.output_incomplete => Ok(()),
        None => Err("the trace has no copy of it".to_owned()),
    }
}

/// Whoever closes the run of a vanished owner knows nothing of it.
fn closed_by_another(result: &RunResult) -> Result<(), String> {
    let known = [
        ("exit_code", result.exit_code.is_some()),
        ("elapsed_ms", result.elapsed_ms.is_some()),
        ("candidate_snapshot", result.candidate_snapshot.is_some()),
        ("artifact_file", result.artifact_file.is_some()),
        ("artifact_digest", result.artifact_digest.is_some()),
        ("output_incomplete", !result.output_incomplete),
        ("cost_status", result.cost_status != CostStatus::Unknown),
    ];
    match known.into_iter().find(|(_, known)| *known) {
        None => Ok(()),
        Some((field, _)) => Err(format!("`{field}` claims what nobody saw: the owner was gone")),
    }
}

fn copied(recorded: &Value, result: &RunResult) -> Result<(), String> {
    let result = serde_json::to_value(result).map_err(|error| error.to_string())?;
    let (Value::Object(recorded), Value::Object(result)) = (recorded, &result) else {
        return Err("the trace's copy is no record".to_owned());
    };
    let names = recorded.keys().chain(result.keys());
    for name in names.filter(|name| !SEALED_LATER.contains(&name.as_str())) {
        if recorded.get(name) != result.get(name) {
            let shown = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            return Err(format!(
                "`{name}` is {} in the journal and {} in the trace",
                shown(result.get(name)),
                shown(recorded.get(name))
            ));
        }
    }
    let flag = |record: &serde_json::Map<String, Value>| record.get("output_incomplete").and_then(Value::as_bool);
    let sealed = result.get("trace_digest").is_some_and(Value::is_string);
    if flag(recorded) != flag(result) && sealed {
        return Err("`output_incomplete` is not that of the trace, which was sealed whole".to_owned());
    }
    Ok(())
}

/// The exit code of a run: the loop's is whether it completed, a bounded command's its own.
fn exit_code(effects: &Effects, adapter: &Identifier) -> Option<i32> {
    if adapter.as_str() == BOUNDED_COMMAND {
        let exit = effects
            .results
            .last()
            .filter(|_| !effects.faulted)?
            .result
            .get("exit")?;
        return i32::try_from(exit.as_i64()?).ok();
    }
    let completed = !effects.faulted
        && effects
            .outcome
            .as_ref()
            .is_some_and(|outcome| outcome.ending.is_completed());
    Some(i32::from(!completed))
}

fn follows(effects: &Effects, result: &RunResult, adapter: &Identifier) -> Result<(), String> {
    if result.exit_code != exit_code(effects, adapter) {
        return Err("`exit_code` does not follow from how the run ended".to_owned());
    }
    if effects.ending.as_ref().is_some_and(|ending| *ending != result.ending) {
        return Err("`ending` is not the one summed up in the trace".to_owned());
    }
    if result.group_clear && effects.leaves_processes() {
        return Err("`group_clear` is claimed, and a command's processes were not proved gone".to_owned());
    }
    if let (Some(file), Some(digest)) = (&result.artifact_file, &result.artifact_digest)
        && *file != format!("manifest-{}.json", digest.hex())
    {
        return Err("`artifact_file` is not named by `artifact_digest`".to_owned());
    }
    if !result.cost_is_consistent() {
        return Err("the fields of the cost contradict each other".to_owned());
    }
    match effects.cost() {
        Some(cost) if !result.output_incomplete => cost_follows(&effects.outcome, cost, result),
        Some(_) | None => Ok(()),
    }
}

/// The requests' own costs add up to the run's.
fn cost_follows(outcome: &Option<Outcome>, cost: Cost, result: &RunResult) -> Result<(), String> {
    let expected = match (outcome, cost) {
        (None, _) => return Ok(()),
        (Some(_), Cost::Known(amount)) => (CostStatus::Priced, Some(amount)),
        (Some(_), Cost::AtLeast(amount)) => (CostStatus::Partial, Some(amount)),
        (Some(_), Cost::Unknown) => (CostStatus::Unknown, None),
    };
    if (result.cost_status, result.cost_microusd) == expected {
        Ok(())
    } else {
        Err("`cost_microusd` is not the sum of what the requests cost".to_owned())
    }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
