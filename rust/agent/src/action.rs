//! The one action a reply stands for: its schema, which providers enforce where they can, and a reader that forgives what
//! models commonly get wrong around the JSON but guesses nothing inside it.

use crate::error::Error;
use serde::{Deserialize, Serialize};

/// The most commands run in one step.
pub const COMMANDS_PER_STEP: usize = 64;
/// The longest script, in bytes.
pub const SCRIPT_BYTES: usize = 64 * 1024;

/// How many `{` of a reply are tried as the beginning of its object. Bounds the work on text full of braces.
const ATTEMPTS: usize = 64;

/// The strict JSON schema of a reply, as JSON text. `reply` stands first so that it can be shown while the rest is
/// still being written.
pub const ACTION_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "reply": {"type": "string", "description": "What the user is told now. Empty while there is nothing to tell."},
    "ask": {"type": "string", "enum": ["none", "question"], "description": "question: stop here and wait for the user's answer to `reply`."},
    "rationale": {"type": "string", "description": "A private note on why this action, kept in the log."},
    "commands": {"type": "array", "items": {"type": "string"}, "description": "Bash scripts, run one after the other until one fails."},
    "view": {"type": "array", "items": {"type": "string"}, "description": "The files to show from the next step on, in place of those shown now. Empty keeps them."},
    "freeze_tests": {"type": "boolean", "description": "Unused here: false."},
    "expand": {"type": "array", "items": {"type": "string"}, "description": "Unused here: empty."},
    "finished": {"type": "boolean", "description": "true when the task is done, or cannot be done, and `reply` says so."}
  },
  "required": ["reply", "ask", "rationale", "commands", "view", "freeze_tests", "expand", "finished"],
  "additionalProperties": false
}"#;

/// A named JSON schema that a reply must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseSchema {
    /// Its name.
    pub name: &'static str,
    /// The schema as JSON text.
    pub json: &'static str,
}

/// The schema `next_action`.
pub const fn action_schema() -> ResponseSchema {
    ResponseSchema {
        name: "next_action",
        json: ACTION_SCHEMA,
    }
}

/// Whether the model wants the user's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// No.
    #[default]
    None,
    /// An answer to the question in `reply`.
    Question,
    /// An approval; only read, for older records. Every action is already approved by the grant or refused by the boundary.
    Approval,
}

/// One checked reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Action {
    /// What the user is told.
    pub reply: String,
    /// Whether the model waits for the user.
    pub ask: Ask,
    /// The model's private note.
    pub rationale: String,
    /// The scripts to run; none is blank, longer than [`SCRIPT_BYTES`] or holds a NUL.
    pub commands: Vec<String>,
    /// The files to show; empty keeps those shown now.
    pub view: Vec<String>,
    /// Without effect in this profile.
    pub freeze_tests: bool,
    /// Without effect in this profile.
    pub expand: Vec<String>,
    /// The model says the task is done.
    pub finished: bool,
}

/// The reply as written. Keys that later versions may add are passed over: the strict schema is the provider's to enforce.
#[derive(Deserialize)]
struct Written {
    reply: Option<String>,
    ask: Option<Ask>,
    rationale: String,
    commands: Vec<String>,
    view: Option<Vec<String>>,
    freeze_tests: Option<bool>,
    expand: Option<Vec<String>>,
    finished: bool,
}

/// Reads the action of a reply: the first JSON object in the text that is one, with or without a Markdown fence or prose
/// around it. `rationale`, `commands` and `finished` must be there; what else is missing or null has its default.
///
/// # Errors
/// [`Error::NoObject`] without any JSON object; otherwise what is wrong with the first object, or with its commands.
pub fn parse_action(text: &str) -> Result<Action, Error> {
    let mut fault: Option<serde_json::Error> = None;
    for (start, _) in text.match_indices('{').take(ATTEMPTS) {
        let rest = text.get(start..).unwrap_or_default();
        match serde_json::Deserializer::from_str(rest).into_iter::<Written>().next() {
            Some(Ok(written)) => return checked(written),
            // An object of the wrong shape says more about the reply than a brace in the prose before it.
            Some(Err(error)) if error.is_data() && !fault.as_ref().is_some_and(serde_json::Error::is_data) => {
                fault = Some(error);
            }
            Some(Err(error)) => {
                fault.get_or_insert(error);
            }
            None => {}
        }
    }
    Err(fault.map_or(Error::NoObject, |error| Error::Reply {
        reason: error.to_string(),
    }))
}

fn checked(written: Written) -> Result<Action, Error> {
    // A blank script is no command: it would count as work done and keep an idle model going.
    let commands: Vec<String> = written
        .commands
        .into_iter()
        .filter(|script| !script.trim().is_empty())
        .collect();
    if commands.len() > COMMANDS_PER_STEP {
        return Err(Error::TooManyCommands {
            count: commands.len(),
            limit: COMMANDS_PER_STEP,
        });
    }
    for (index, script) in commands.iter().enumerate() {
        if script.len() > SCRIPT_BYTES {
            return Err(Error::ScriptTooLong {
                index,
                bytes: script.len(),
                limit: SCRIPT_BYTES,
            });
        }
        if script.contains('\0') {
            return Err(Error::ScriptNul { index });
        }
    }
    Ok(Action {
        reply: written.reply.unwrap_or_default(),
        ask: written.ask.unwrap_or_default(),
        rationale: written.rationale,
        commands,
        view: written.view.unwrap_or_default(),
        freeze_tests: written.freeze_tests.unwrap_or_default(),
        expand: written.expand.unwrap_or_default(),
        finished: written.finished,
    })
}

#[cfg(test)]
#[path = "action_tests.rs"]
mod tests;
