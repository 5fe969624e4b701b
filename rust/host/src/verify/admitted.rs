//! Holds the trace's own account of whose run it is, and of what was admitted, against the journal's record.

use coder_digest::json;
use coder_journal::{OWNER_PROCESS_ENDED, Run, Task};
use coder_trace::{Opening, SessionId};
use serde_json::Value;

/// The first line is of this task, turn, adapter and workspace.
pub(super) fn session(opening: Option<&Opening>, task: &Task, turn: usize, run: &Run) -> Result<(), String> {
    let Some(opening) = opening else {
        return Err("the trace has no session".to_owned());
    };
    let session = &opening.session;
    let workspace = session.repository.as_deref();
    let wrong = [
        ("id", session.id != SessionId::new(&task.task_id, turn as u64)),
        ("door", session.door != run.admission.adapter.as_str()),
        (
            "repository",
            workspace.is_some_and(|path| path != run.admission.workspace),
        ),
    ];
    match wrong.into_iter().find(|(_, wrong)| *wrong) {
        None => Ok(()),
        Some((name, _)) => Err(format!("the session's `{name}` is not the journal's")),
    }
}

/// The admission step says what the journal says.
pub(super) fn step(step: &Option<Value>, task: &Task, run: &Run) -> Result<(), String> {
    let Some(step) = step else {
        // Killed between the journal's record and the trace's second step.
        let ended = run
            .result
            .as_ref()
            .is_some_and(|result| result.ending != OWNER_PROCESS_ENDED);
        return if ended {
            Err("the trace has no admission step".to_owned())
        } else {
            Ok(())
        };
    };
    let admission = &run.admission;
    let context = admission.context.get("digest").and_then(Value::as_str);
    if let Value::Object(fields) = &admission.context {
        let mut content = fields.clone();
        content.remove("digest");
        if context != Some(json::digest(&Value::Object(content)).hex().as_str()) {
            return Err("the journal's context is not the one digested".to_owned());
        }
    }
    let expected = [
        ("grant_digest", Some(admission.grant_digest.to_string())),
        ("intent_digest", Some(task.intent_digest.to_string())),
        ("source_snapshot", Some(admission.source_snapshot.hex())),
        ("source_revision", admission.source_revision.clone()),
        ("workspace", Some(admission.workspace.clone())),
        ("context_digest", context.map(str::to_owned)),
    ];
    for (name, value) in expected {
        if step.get(name).and_then(Value::as_str) != value.as_deref() {
            return Err(format!("the trace's `{name}` is not the journal's"));
        }
    }
    Ok(())
}
