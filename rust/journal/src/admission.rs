//! What was admitted: the grant with its exact text, and the pins the run is held to. The host has validated the grant;
//! here only structure and identities are checked, at the event and again at each replay, under the rules version the
//! event was accepted with. Deliberately not here: what a grant may ask for, and whether a program or a tree exists.

use crate::task::Task;
use coder_digest::{Digest, Identifier, bare, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The adapter that runs one exact command.
pub const BOUNDED_COMMAND: &str = "bounded-command";
/// The adapter that runs the agent loop on a repository.
pub const REPOSITORY: &str = "microcoder-repository";

/// The record of an admission (facts 3.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// The grant, as a value.
    pub grant: Value,
    /// Digest of `grant_request`.
    pub grant_digest: Digest,
    /// The grant's exact text.
    pub grant_request: String,
    /// The canonical workspace.
    pub workspace: String,
    /// The commit the tree was at, if it is a checkout.
    pub source_revision: Option<String>,
    /// The digest of the tree as admitted.
    #[serde(with = "bare")]
    pub source_snapshot: Digest,
    /// Digest of the program's bytes.
    pub program_digest: Digest,
    /// The adapter admitted.
    pub adapter: Identifier,
    /// The network the run has, a label of facts 3.6.
    pub network: String,
    /// What the run may read, a label of facts 3.6.
    pub read_scope: String,
    /// On whose authority.
    pub authority: String,
    /// The name of the turn's trace in the store.
    pub trace_file: String,
    /// The captured context, or null.
    pub context: Value,
}

impl Admission {
    /// Reads `grant_request` again, so that `grant` and `grant_digest` cannot differ from it.
    ///
    /// # Errors
    /// `invalid_command` if the text is not strict JSON of at most 64 KiB.
    pub fn read_grant(grant_request: &str) -> Result<(Value, Digest), crate::Error> {
        let grant = json::parse(grant_request.as_bytes(), json::Limit::COMMAND)?;
        Ok((grant, Digest::of(grant_request.as_bytes())))
    }

    /// The requirements the grant pins, or null.
    pub fn requirements(&self) -> &Value {
        self.grant.get("requirements").unwrap_or(&Value::Null)
    }

    /// The rule this admission breaks for `task`, if any (facts 2.5 and 3.6, rules version 1).
    pub(crate) fn broken_rule(&self, task: &Task) -> Option<&'static str> {
        let text_is_grant = Self::read_grant(&self.grant_request)
            .is_ok_and(|(grant, digest)| grant == self.grant && digest == self.grant_digest);
        let intent = &task.intent;
        let named = |name: &str| self.grant.get(name).and_then(Value::as_str);
        let digest = |name: &str| named(name).and_then(|text| text.parse::<Digest>().ok());
        let rules: [(bool, &'static str); 14] = [
            (text_is_grant, "the grant is not that of its text and digest"),
            (
                named("task_id") == Some(task.task_id.as_str()),
                "the grant is for another task",
            ),
            (
                digest("intent_digest") == Some(task.intent_digest),
                "the grant is for another intent",
            ),
            (
                self.grant.get("expected_revision").and_then(Value::as_u64) == Some(task.revision),
                "the grant is for another revision of the task",
            ),
            (
                self.grant.get("expected_source_snapshot").is_none_or(Value::is_null)
                    || digest("expected_source_snapshot") == Some(self.source_snapshot),
                "the grant pins another source snapshot",
            ),
            (
                self.adapter == intent.configuration.adapter,
                "the adapter is not the one requested",
            ),
            (
                self.model_matches(task),
                "the requested model is not one of the grant's models",
            ),
            (
                Path::new(&self.workspace) == intent.tree(),
                "the workspace is not the one requested",
            ),
            (
                intent.workspace.source_revision.is_none() || intent.workspace.source_revision == self.source_revision,
                "the tree is not at the requested source revision",
            ),
            (
                self.source_revision.as_deref().is_none_or(crate::intent::is_commit),
                "the source revision is not a full commit id",
            ),
            (
                self.labels_match(),
                "the network and read scope are not those of the grant's configuration",
            ),
            (
                self.authority == "local_os_user",
                "the authority is not the local user's",
            ),
            (
                self.trace_file == format!("{}.{}.atif.jsonl", task.task_id, task.turn()),
                "the trace file is not that of this turn",
            ),
            (
                self.context_matches(task),
                "the context is for another revision or prompt",
            ),
        ];
        rules.into_iter().find_map(|(holds, rule)| (!holds).then_some(rule))
    }

    fn configuration(&self) -> &Value {
        self.grant.get("adapter_configuration").unwrap_or(&Value::Null)
    }

    fn model_matches(&self, task: &Task) -> bool {
        let requested = task.intent.configuration.model.as_ref().map(|model| model.as_str());
        let configuration = self.configuration();
        if configuration.is_null() {
            return self.adapter.as_str() == BOUNDED_COMMAND && requested.is_none();
        }
        let model = |route: &Value| route.get("model").and_then(Value::as_str).map(str::to_owned);
        let fallbacks = configuration.get("fallbacks").and_then(Value::as_array);
        let offered = std::iter::once(model(configuration)).chain(fallbacks.into_iter().flatten().map(model));
        self.adapter.as_str() == REPOSITORY
            && requested.is_some_and(|requested| offered.flatten().any(|offered| offered == requested))
    }

    fn labels_match(&self) -> bool {
        let configuration = self.configuration();
        let contained = configuration
            .get("container")
            .is_some_and(|container| !container.is_null());
        let access = configuration
            .get("access")
            .and_then(Value::as_str)
            .unwrap_or("boundary");
        let labels = (self.network.as_str(), self.read_scope.as_str());
        match (contained, access) {
            (true, "boundary") => {
                labels
                    == (
                        "container_network_none",
                        "workspace_host_reads_and_pinned_container_image",
                    )
            }
            (false, "full") => labels == ("host_network", "host_user"),
            (false, "toolchains") => {
                labels.1 == "workspace_system_and_toolchains" && network_matches(configuration, "host", labels.0)
            }
            (false, "boundary") => {
                labels.1 == "workspace_and_system" && network_matches(configuration, "none", labels.0)
            }
            _ => false,
        }
    }

    fn context_matches(&self, task: &Task) -> bool {
        self.context.is_null()
            || (self.context.get("task_revision").and_then(Value::as_u64) == Some(task.revision)
                && self.context.get("prompt").and_then(Value::as_str) == Some(task.prompt()))
    }
}

/// Whether a label is that of the network the configuration names, or of the access mode's own where it names none.
fn network_matches(configuration: &Value, usual: &str, label: &str) -> bool {
    let named = configuration.get("network").filter(|network| !network.is_null());
    match named.map_or(Some(usual), Value::as_str) {
        Some("none") => matches!(
            label,
            "network_namespace_isolated" | "external_ip_denied_localhost_allowed"
        ),
        Some("host") => label == "host_network",
        Some(_) => false,
        None => label == "network_allow_list" && named.is_some_and(|network| network.get("allow").is_some()),
    }
}
