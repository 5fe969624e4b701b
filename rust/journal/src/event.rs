//! What an owner records about its task (facts 2.5), as closed data. What each event does to the task is in
//! `transition`; who may record one is in `owner`.

use crate::admission::Admission;
use coder_digest::{BytePath, Digest, bare};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The ending of a run whose owner's process went away.
pub const OWNER_PROCESS_ENDED: &str = "owner_process_ended";
/// Why a run is unknown after its owner was lost.
pub const OWNER_LOST: &str = "owner_lost_effects_not_replayed";
/// Why checks are unavailable after their owner was lost.
pub const CHECKER_OWNER_LOST: &str = "checker_owner_lost";

/// One owner event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The grant was accepted and the tree is reserved.
    Admitted {
        /// What was admitted.
        admission: Box<Admission>,
    },
    /// The run is about to touch the world.
    EffectIntent {
        /// `<task>:<turn>:command`.
        effect_id: String,
    },
    /// A process was started.
    Spawned {
        /// Its id, not zero.
        process_id: u32,
    },
    /// The run ended.
    Result {
        /// How.
        result: Box<RunResult>,
    },
    /// The owner is gone and what it left is not known.
    OwnerLost {},
    /// The checks are about to run.
    CheckIntent {},
    /// The checks ended.
    Checked {
        /// What they found.
        report: Box<CheckReport>,
    },
    /// The owner of the checks is gone.
    CheckOwnerLost {},
}

impl Event {
    /// The event's `type` as written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Admitted { .. } => "admitted",
            Self::EffectIntent { .. } => "effect_intent",
            Self::Spawned { .. } => "spawned",
            Self::Result { .. } => "result",
            Self::OwnerLost {} => "owner_lost",
            Self::CheckIntent {} => "check_intent",
            Self::Checked { .. } => "checked",
            Self::CheckOwnerLost {} => "check_owner_lost",
        }
    }

    /// Whether the event starts something that needs the task's tree for itself.
    pub(crate) fn reserves_tree(&self) -> bool {
        matches!(self, Self::Admitted { .. } | Self::CheckIntent {})
    }

    /// Whether the event ends something, and therefore may use what was held back for endings.
    pub(crate) fn is_ending(&self) -> bool {
        match self {
            Self::Result { .. } | Self::OwnerLost {} | Self::Checked { .. } | Self::CheckOwnerLost {} => true,
            Self::Admitted { .. } | Self::EffectIntent { .. } | Self::Spawned { .. } | Self::CheckIntent {} => false,
        }
    }
}

/// A changed file that others execute later, without being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoExec {
    /// The file, relative to the workspace; cut after 512 bytes.
    pub path: BytePath,
    /// Who executes it.
    pub runs: String,
}

/// How a run ended (facts 9.5). What is not known is null, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// The host's word for the ending, snake_case.
    pub ending: String,
    /// Why it ended so, in one sentence of at most 4,096 bytes, where the word alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The exit code, if there was one.
    pub exit_code: Option<i32>,
    /// Whether the host asked the run to stop.
    pub stop_requested: bool,
    /// Whether it is proved that no process of the run is left.
    pub group_clear: bool,
    /// How that was proved, where the prover says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<String>,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// Digest of the trace's bytes, if there is a trace.
    pub trace_digest: Option<Digest>,
    /// Digest of the tree the run left.
    #[serde(with = "bare_or_null")]
    pub candidate_snapshot: Option<Digest>,
    /// The name of the artifact manifest in the store.
    pub artifact_file: Option<String>,
    /// Its digest.
    pub artifact_digest: Option<Digest>,
    /// What of Git's was left as it was before the run, by name: a reference, or `index`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git_restored: Vec<String>,
    /// Files that Git would obey and that appeared during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appeared: Vec<BytePath>,
    /// Changed files that others execute later: hooks, tasks, build scripts, instructions of agents. At most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auto_exec: Vec<AutoExec>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub auto_exec_omitted: u64,
    /// Whether some output was not retained.
    pub output_incomplete: bool,
    /// What is known about the cost.
    pub cost_status: CostStatus,
    /// The whole cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The generation's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_microusd: Option<u64>,
    /// The decisions' part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jev_microusd: Option<u64>,
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
}

/// What is known about the cost of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostStatus {
    /// All of it.
    Priced,
    /// Some of it.
    Partial,
    /// Nothing.
    Unknown,
}

impl RunResult {
    /// Whether the cost fields agree with each other: unknown has no number, partial a part of one, priced the whole,
    /// and the whole is the sum of its parts.
    pub fn cost_is_consistent(&self) -> bool {
        let parts = [self.engine_microusd, self.jev_microusd];
        let sum = parts.into_iter().flatten().try_fold(0_u64, u64::checked_add);
        let some_part = parts.iter().any(Option::is_some);
        match self.cost_status {
            CostStatus::Unknown => self.cost_microusd.is_none() && !some_part,
            CostStatus::Partial => self.cost_microusd.is_some() || some_part,
            CostStatus::Priced => self.cost_microusd.is_some() && (!some_part || sum == self.cost_microusd),
        }
    }
}

/// What the independent checks found (facts 10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckReport {
    /// [`CHECKS_SCHEMA`].
    pub schema: String,
    /// Value digest of the grant's requirements.
    #[serde(with = "bare")]
    pub requirements_digest: Digest,
    /// Digest of the admitted context, or null where none was captured.
    #[serde(with = "bare_or_null")]
    pub context_digest: Option<Digest>,
    /// The tree that was checked.
    #[serde(with = "bare_or_null")]
    pub candidate_snapshot: Option<Digest>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub evidence: Value,
    /// Why, where there is more to say.
    pub reason: Option<String>,
}

/// The schema of a check report.
pub const CHECKS_SCHEMA: &str = "openagents.coder.task-checks.v1";

/// The verdict of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Each check passed.
    Passed,
    /// A check failed.
    Failed,
    /// No verdict could be reached.
    Unavailable,
    /// The verdict is of a request that was corrected since.
    Disputed,
}

/// Digests without their prefix, or null.
pub(crate) mod bare_or_null {
    use coder_digest::{Digest, bare};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(digest: &Option<Digest>, serializer: S) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => bare::serialize(digest, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Digest>, D::Error> {
        Option::deserialize(deserializer)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
