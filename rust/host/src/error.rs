//! The one error of this crate: each variant one refused or failed act. Words for a person are in the messages; programs
//! read [`Error::code`], which never changes. A run that began does not end in an error but in a result.

use crate::route::Provider;
use coder_digest::{Digest, Identifier, TaskId, json};
use std::io;
use std::path::PathBuf;

/// Why something was refused or failed before a run began, or while evidence was read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The grant is not bounded strict JSON.
    #[error("the grant is refused: it is not bounded strict JSON")]
    GrantText {
        /// What is wrong and where.
        source: json::Error,
    },
    /// The grant is strict JSON of another shape, as when a newer program wrote it.
    #[error("the grant is refused: invalid shape{}", newer(source))]
    GrantShape {
        /// What is wrong and where.
        source: json::Error,
    },
    /// A field is outside its bounds.
    #[error("the grant is refused: `{field}`: {reason}")]
    GrantField {
        /// The field, with the object it is in where that is not the grant itself.
        field: String,
        /// What it must be.
        reason: String,
    },
    /// Another schema.
    #[error("the {what}'s `schema` is not `{expected}`: use the version of the program that wrote it")]
    UnsupportedSchema {
        /// Which document.
        what: &'static str,
        /// The schema read here.
        expected: &'static str,
    },
    /// The grant and the task or the machine disagree on something exact.
    #[error("the grant is refused: its `{field}` is {granted}, and {subject} is {actual}")]
    Mismatch {
        /// The grant's field.
        field: &'static str,
        /// Its value.
        granted: String,
        /// What it was compared with.
        subject: &'static str,
        /// The value there.
        actual: String,
    },
    /// The task is past the point where a grant can start it.
    #[error("task {task} is {status}: a grant starts a queued task once; submit a new task for new work")]
    NotQueued {
        /// The task.
        task: TaskId,
        /// Its status word.
        status: &'static str,
    },
    /// A command file holds another kind of command than its sender believes.
    #[error("the file holds a `{found}` command, not `{expected}`")]
    ActionMismatch {
        /// The kind it holds.
        found: &'static str,
        /// The kind that was asked for.
        expected: &'static str,
    },
    /// A variable of the host's environment is not what it must be.
    #[error("the variable {name} must be {rule}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// The run was told to stop before it was admitted.
    #[error("stopped before the run was admitted: nothing was run, and the task waits as before")]
    Stopped,
    /// An earlier start of the task lives.
    #[error("task {task} is being started already: `coder task show` says how it stands")]
    AlreadyStarted {
        /// The task.
        task: TaskId,
    },
    /// A message to a running task is none that can be sent.
    #[error("the message is refused: {reason}")]
    Message {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No loop of the task will read a message.
    #[error("task {task} is {status}: only a running task reads messages; use `correct` or `continue`")]
    NotRunning {
        /// The task.
        task: TaskId,
        /// How it stands.
        status: &'static str,
    },
    /// The messages of one turn would be too many.
    #[error("the messages to this turn of task {task} already fill 1 MiB")]
    InboxFull {
        /// The task.
        task: TaskId,
    },
    /// There is no store at this place.
    #[error("there is no task store at {}: submit a task first, or name another with --store", path.display())]
    NoStore {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The store and the workspace overlap.
    #[error("the task store {} and the workspace {} overlap: keep the store outside", store.display(), workspace.display())]
    StoreOverlaps {
        /// The store.
        store: PathBuf,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The program is not the system shell.
    #[error("the grant is refused: `program` {} is not the system's bash or sh: {reason}", program.display())]
    NotShell {
        /// The program as granted.
        program: PathBuf,
        /// Why not, and what is one.
        reason: String,
    },
    /// A writing grant on an ordinary checkout.
    #[error(
        "a writing run changes files only in a linked worktree, and {} is the repository's own checkout: use a linked worktree: \
         {command}: and submit a task whose workspace path is {}",
        path.display(), worktree.display()
    )]
    WritableCheckout {
        /// The checkout.
        path: PathBuf,
        /// A place for the worktree.
        worktree: PathBuf,
        /// The command that makes it there.
        command: String,
    },
    /// The source could not be observed whole.
    #[error("the workspace {} cannot be observed whole: {fault}", path.display())]
    SourceIncomplete {
        /// The workspace.
        path: PathBuf,
        /// The first fault.
        fault: String,
    },
    /// The source changed between admission and the first effect.
    #[error("the workspace {} changed while it was admitted: nothing was run; submit and grant again", path.display())]
    SourceChanged {
        /// The workspace.
        path: PathBuf,
    },
    /// The repository has no commit yet.
    #[error("the repository {} has no commit yet: commit something first", path.display())]
    NoCommit {
        /// The repository.
        path: PathBuf,
    },
    /// An instruction file of the repository cannot be taken as it is.
    #[error("the instruction file `{path}` is refused: {reason}")]
    Instructions {
        /// Its path in the workspace.
        path: String,
        /// Why.
        reason: String,
    },
    /// A field's value is part of the format, and this version does not act on it.
    #[error("the grant is refused: `{field}` is not supported: {reason}")]
    NotSupported {
        /// The field.
        field: &'static str,
        /// What to do instead.
        reason: &'static str,
    },
    /// This version has no client for the provider.
    #[error(
        "the grant is refused: this version has no client for the provider `{provider}`; use `codex`, `claude`, `anthropic`, `openai` or `scripted`"
    )]
    ProviderNotSupported {
        /// The provider.
        provider: Provider,
    },
    /// A document is not exactly the one that is pinned.
    #[error("the document `{id}` at `{path}` is refused: {reason}")]
    Knowledge {
        /// The document.
        id: String,
        /// Its path in the workspace.
        path: String,
        /// Why.
        reason: String,
    },
    /// A check or document comes from the task itself.
    #[error("the grant is refused: the source `{source_name}` of a check or document is the task itself")]
    Lineage {
        /// The source as declared.
        source_name: String,
    },
    /// The kernel gave less than was asked.
    #[error("the boundary enforced less than was asked: {missing}")]
    TooLittleEnforced {
        /// What is missing.
        missing: String,
    },
    /// The provider's client cannot be built.
    #[error("the provider `{provider}` is not ready: {reason}")]
    ProviderUnavailable {
        /// The provider.
        provider: Provider,
        /// What is missing, and what to do.
        reason: String,
    },
    /// The Jev client refused what it was built from.
    #[error("the client of the decision endpoint cannot be built")]
    Decisions {
        /// Why.
        source: coder_models::Error,
    },
    /// The books of providers' limits, or the list of routes they are asked for.
    #[error("who is held by a limit cannot be told")]
    Books(#[from] coder_failover::Error),
    /// A capability manifest that cannot be used.
    #[error("the capability manifest {} is refused: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The trust store cannot be used, and therefore approves nothing.
    #[error("the trust store {} is refused: {reason}", path.display())]
    Trust {
        /// Its file, or its directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody approved what would run.
    #[error("the capability `{slug}` is not approved in {}: {reason}", store.display())]
    NotApproved {
        /// The manifest's slug.
        slug: Identifier,
        /// The trust store's file.
        store: PathBuf,
        /// What differs, or what to do.
        reason: String,
    },
    /// The suite of a check is not the one pinned, or lies where a run can write.
    #[error("the suite of the check `{check}` is refused: {reason}")]
    Suite {
        /// The check of the plan.
        check: Identifier,
        /// What is wrong with it.
        reason: String,
    },
    /// The provider's client refused what it was built from.
    #[error("the client of `{provider}` cannot be built")]
    Client {
        /// The provider.
        provider: Provider,
        /// Why.
        source: coder_models::Error,
    },
    /// A file could not be read or written.
    #[error("could not {act} {}", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A path that must be text is not.
    #[error("the {what} path {} is not UTF-8, and the task format holds only text", path.display())]
    PathNotText {
        /// Whose path.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A retained document is not what was retained.
    #[error("the retained {what} {digest} cannot be used: {reason}")]
    Retained {
        /// Which document.
        what: &'static str,
        /// Its digest.
        digest: Digest,
        /// What is wrong.
        reason: String,
    },
    /// The task has no such thing yet.
    #[error("task {task} has no {what}")]
    Absent {
        /// The task.
        task: TaskId,
        /// What was asked for.
        what: &'static str,
    },
    /// The store contradicts itself, so nothing is attested of the task.
    #[error("task {task} does not verify, and is not attested: {mismatch}")]
    Unverified {
        /// The task.
        task: TaskId,
        /// The first comparison that fails.
        mismatch: String,
    },
    /// A carried statement or document cannot be read, or not be made.
    #[error("the attestation cannot be used: {reason}")]
    Attestation {
        /// What is wrong.
        reason: String,
    },
    /// A key or an envelope.
    #[error(transparent)]
    Signing(#[from] coder_signing::Error),
    /// The store.
    #[error(transparent)]
    Journal(#[from] coder_journal::Error),
    /// The trace.
    #[error(transparent)]
    Trace(#[from] coder_trace::Error),
    /// The workspace.
    #[error(transparent)]
    Workspace(#[from] coder_workspace::Error),
    /// The boundary.
    #[error(transparent)]
    Boundary(#[from] coder_boundary::Error),
    /// A process.
    #[error(transparent)]
    Process(#[from] coder_process::Error),
    /// A model client.
    #[error(transparent)]
    Models(#[from] coder_models::Error),
    /// The loop's limits.
    #[error(transparent)]
    Agent(#[from] coder_agent::Error),
}

/// What an unknown name in a closed shape may mean.
fn newer(error: &json::Error) -> &'static str {
    if error.is_unknown_name() {
        " (a newer program may have written it: use that version, or leave the field out)"
    } else {
        ""
    }
}

impl Error {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::GrantText { .. } => "grant_text",
            Self::GrantShape { .. } => "grant_shape",
            Self::GrantField { .. } => "grant_field",
            Self::UnsupportedSchema { .. } => "unsupported_schema",
            Self::Mismatch { .. } => "grant_mismatch",
            Self::NotQueued { .. } => "not_queued",
            Self::Variable { .. } => "configuration",
            Self::ActionMismatch { .. } => "action_mismatch",
            Self::Stopped => "stopped",
            Self::AlreadyStarted { .. } => "already_started",
            Self::Message { .. } => "invalid_message",
            Self::NotRunning { .. } => "not_running",
            Self::InboxFull { .. } => "limit_exceeded",
            Self::NoStore { .. } => "no_store",
            Self::StoreOverlaps { .. } => "unsafe_path",
            Self::NotShell { .. } => "not_shell",
            Self::WritableCheckout { .. } => "writable_checkout",
            Self::SourceIncomplete { .. } => "source_incomplete",
            Self::SourceChanged { .. } => "source_changed",
            Self::NoCommit { .. } => "no_commit",
            Self::Instructions { .. } => "instructions",
            Self::NotSupported { .. } => "not_supported",
            Self::ProviderNotSupported { .. } => "provider_not_supported",
            Self::Knowledge { .. } => "knowledge",
            Self::Lineage { .. } => "lineage",
            Self::TooLittleEnforced { .. } => "too_little_enforced",
            Self::ProviderUnavailable { .. } => "provider_unavailable",
            Self::Books(source) => source.code(),
            Self::Manifest { .. } => "capability_manifest",
            Self::Trust { .. } => "capability_trust",
            Self::NotApproved { .. } => "not_approved",
            Self::Suite { .. } => "protected_suite",
            Self::Client { source, .. } | Self::Decisions { source } => source.code(),
            Self::File { .. } => "io",
            Self::PathNotText { .. } => "path_not_text",
            Self::Retained { .. } => "retained",
            Self::Absent { .. } => "absent",
            Self::Unverified { .. } => "unverified",
            Self::Attestation { .. } => "bad_attestation",
            Self::Signing(error) => error.code(),
            Self::Journal(error) => error.code(),
            Self::Trace(error) => error.code(),
            Self::Workspace(error) => error.code(),
            Self::Boundary(error) => error.code(),
            Self::Process(error) => error.code(),
            Self::Models(error) => error.code(),
            Self::Agent(_) => "agent_limits",
        }
    }

    /// Which part of a grant's way refused: `configuration` for what the grant alone says, `admission` for what it was compared
    /// with, else the provider whose client could not be built.
    pub fn cause(&self) -> &'static str {
        if let Self::ProviderUnavailable { provider, .. } | Self::Client { provider, .. } = self {
            return provider.as_str();
        }
        let is_of_the_grant_alone = matches!(
            self,
            Self::GrantText { .. }
                | Self::GrantShape { .. }
                | Self::GrantField { .. }
                | Self::UnsupportedSchema { .. }
                | Self::NotSupported { .. }
                | Self::ProviderNotSupported { .. }
        );
        if is_of_the_grant_alone {
            "configuration"
        } else {
            "admission"
        }
    }

    /// The whole message with the reasons below it, in one line.
    pub fn message(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }

    /// A pin that does not hold.
    pub(crate) fn mismatch(
        field: &'static str,
        granted: &dyn std::fmt::Display,
        subject: &'static str,
        actual: &dyn std::fmt::Display,
    ) -> Self {
        Self::Mismatch {
            field,
            granted: granted.to_string(),
            subject,
            actual: actual.to_string(),
        }
    }

    pub(crate) fn file(act: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { act, path, source }
    }
}
