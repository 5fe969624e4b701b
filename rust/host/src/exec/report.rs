//! The report of one command as it is written for programs. Only a form of what the execution returned.

use super::Executed;
use crate::Denied;
use crate::outcome::{ending_word, peak_memory, tree_json};
use coder_boundary::{Connections, Enforced, Exhausted};
use coder_workspace::Published;
use serde::Serialize;
use serde_json::{Value, json};

/// The written report of one command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    schema: &'static str,
    /// How it ended, in one word.
    pub ending: &'static str,
    /// Its exit status, if it exited by itself.
    pub exit: Option<i32>,
    /// How its own process really died.
    pub death: Value,
    /// Whether every process of it is gone, and how that is known.
    pub group_clear: bool,
    /// The proof.
    pub proof: Option<&'static str>,
    /// From the start to the end.
    pub seconds: f64,
    /// What it used.
    pub usage: Value,
    /// What really held it.
    pub enforced: Enforced,
    /// What of its bounds ran out, where something counted it.
    #[serde(flatten)]
    pub exhausted: Exhausted,
    /// What a boundary of the highest level would have held beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<&'static str>,
    /// What it did through the gateway to listed hosts, where it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// What its kept output says was denied, and the boundary's policy refuses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// Names that Git would obey and that appeared.
    pub appeared: Vec<coder_digest::BytePath>,
    /// What of the command's Git has reached the repository, where anything was to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Published>,
    /// What was derived of this computer's toolchains, with access to them.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub toolchains: Value,
    /// Where the command's environment came from, but in the default boundary: no values.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub command_environment: Value,
}

impl From<&Executed> for Report {
    fn from(executed: &Executed) -> Self {
        let outcome = &executed.outcome;
        let (ending, exit, death) = ending_word(&outcome.ending);
        let (group_clear, proof) = tree_json(outcome.tree);
        Self {
            schema: "openagents.microcoder.exec-report.v1",
            ending,
            exit,
            death,
            group_clear,
            proof,
            seconds: outcome.elapsed.as_secs_f64(),
            usage: outcome.usage.as_ref().map_or(
                Value::Null,
                |usage| json!({ "memory": peak_memory(usage.peak_memory), "cpu_seconds": usage.cpu.as_secs_f64() }),
            ),
            enforced: executed.enforced.clone(),
            exhausted: executed.exhausted,
            lacks: executed.enforced.lacks(),
            connections: executed.connections.clone(),
            denied: executed.denied.clone(),
            appeared: executed.appeared.iter().map(|path| path.as_path().into()).collect(),
            git: executed.git.clone(),
            toolchains: executed.toolchains.clone(),
            command_environment: executed
                .command_environment
                .as_ref()
                .map_or(Value::Null, |environment| json!(environment.as_ref())),
        }
    }
}
