//! Admission: a grant is compared with the task, the workspace and the machine, and only then becomes [`Admitted`]. Nothing
//! is recorded and nothing runs before the last comparison held. Everything that only looks comes before the first thing
//! that leaves a trace in the store, so that a refusal leaves none; the task is compared again once it is owned.

use crate::checks::{self, Outside};
use crate::configuration::{Access, Configuration};
use crate::confine::{Confine, Confined, Environment};
use crate::context::Context;
use crate::grant::{Grant, Work, WorkspaceAccess};
use crate::labels::Labels;
use crate::sweep::{self, ScratchPlace};
use crate::{Error, generation, shell, world};
use coder_boundary::Enforced;
use coder_boundary::toolchains::System;
use coder_digest::{Clock, Digest, Identifier};
use coder_journal::{Admission, Owner, REPOSITORY, Status, Store, Task};
use coder_models::Client;
use coder_workspace::{CheckoutKind, DigestCache, Git, Observer, Repository, Snapshot};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a new owner waits for the task's present one.
const OWNER_WAIT: Duration = Duration::from_secs(120);
/// A version of the controller is digested only when it is pinned; its path, size and time are always recorded.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is compared with.
pub(crate) struct Asked<'a> {
    pub(crate) grant: Grant,
    pub(crate) store: &'a Store,
    pub(crate) environment: &'a Environment<'a>,
    pub(crate) controller: &'a Path,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

/// A grant whose every pin held, with the ownership of its task.
pub(crate) struct Admitted {
    pub(crate) grant: Grant,
    pub(crate) configuration: Configuration,
    pub(crate) owner: Owner,
    pub(crate) task: Task,
    pub(crate) git: Git,
    pub(crate) repository: Repository,
    pub(crate) shell: PathBuf,
    pub(crate) source: Snapshot,
    pub(crate) cache: DigestCache,
    pub(crate) confined: Confined,
    pub(crate) demand: Enforced,
    pub(crate) description: String,
    pub(crate) context: Context,
    pub(crate) controller: Value,
}

impl Asked<'_> {
    /// Compares everything, and builds the client that is to be called.
    pub(crate) fn admit(self) -> Result<(Admitted, Box<dyn Client>), Error> {
        let Work::Repository(configuration) = &self.grant.work else {
            return Err(crate::grant::field(
                "adapter_configuration",
                "a repository run needs one",
            ));
        };
        let configuration = configuration.as_ref().clone();
        supported(&configuration)?;
        if let Some(requirements) = &self.grant.requirements {
            requirements.admissible()?;
        }
        let task = self.store.show(&self.grant.task_id)?;
        self.compare_task(&task, &configuration)?;

        let workspace = canonical(Path::new(&task.intent.workspace.path))?;
        let store = self.store.path();
        if workspace.starts_with(store) || store.starts_with(&workspace) {
            return Err(Error::StoreOverlaps {
                store: store.to_owned(),
                workspace,
            });
        }
        let shell = shell::admit(&self.grant.program)?;
        let git = Git::find()?;
        let repository = Repository::identify(&git, &workspace)?;
        if task.intent.workspace.path != text(&repository.top)? {
            return Err(mismatch(
                "workspace",
                &task.intent.workspace.path,
                "the canonical path",
                &repository.top.display(),
            ));
        }
        let Some(commit) = repository.head.commit() else {
            return Err(Error::NoCommit { path: workspace });
        };
        if let Some(revision) = &task.intent.workspace.source_revision
            && revision != commit.as_str()
        {
            return Err(mismatch("source_revision", revision, "HEAD", commit));
        }
        let writes = self.grant.workspace_access == WorkspaceAccess::Write;
        if writes && matches!(repository.kind, CheckoutKind::Checkout) {
            return Err(Error::WritableCheckout { path: workspace });
        }

        let cache = DigestCache::load(&cache_path(store));
        let source = observe(self.clock, &cache, &workspace)?;
        if let Some(pinned) = self.grant.expected_source_snapshot
            && pinned != source.digest()
        {
            return Err(mismatch(
                "expected_source_snapshot",
                &pinned,
                "the workspace's snapshot",
                &source.digest(),
            ));
        }

        let context = Context::capture(&task, &workspace, self.suites(&repository)?)?;
        let controller = controller(self.controller, configuration.expected_controller_digest)?;
        let client = generation::build_client(&configuration.primary, self.environment, self.clock)?;

        let owner = self.store.own(&task.task_id, OWNER_WAIT)?;
        // Whoever owned the task until now may have run or changed it; nobody can any more.
        self.compare_task(&self.store.show(&task.task_id)?, &configuration)?;
        sweep::scratch(self.store);
        let confine = Confine {
            repository: &repository,
            access: configuration.access,
            workspace_access: self.grant.workspace_access,
            store,
            memory_bytes: self.grant.memory_bytes,
            environment: self.environment,
        };
        let confined = confine.prepare(ScratchPlace::create(store, &task.task_id)?)?;
        let demand = Enforced::least(boundary_access(configuration.access), confined.network);
        confined
            .boundary
            .planned()
            .satisfies(&demand)
            .map_err(|shortfall| Error::TooLittleEnforced {
                missing: shortfall.to_string(),
            })?;
        let description = crate::confine::describe(&confine, &shell, confined.network);
        let admitted = Admitted {
            grant: self.grant,
            configuration,
            owner,
            task,
            git,
            repository,
            shell,
            source,
            cache,
            confined,
            demand,
            description,
            context,
            controller,
        };
        Ok((admitted, client))
    }

    /// The suites of the requirements as they are now, out of reach of the run.
    fn suites(&self, repository: &Repository) -> Result<Vec<Value>, Error> {
        let Some(requirements) = &self.grant.requirements else {
            return Ok(Vec::new());
        };
        let outside = Outside {
            workspace: &repository.top,
            store: self.store.path(),
            git: Some(&repository.common_directory),
        };
        let suites = checks::frozen_suites(requirements, outside, self.clock.as_ref())?;
        Ok(suites.iter().map(|suite| json!(suite)).collect())
    }

    fn compare_task(&self, task: &Task, configuration: &Configuration) -> Result<(), Error> {
        let grant = &self.grant;
        if task.status != Status::Queued || task.run.is_some() {
            return Err(Error::NotQueued {
                task: task.task_id.clone(),
                status: task.status.as_str(),
            });
        }
        if grant.intent_digest != task.intent_digest {
            return Err(mismatch(
                "intent_digest",
                &grant.intent_digest,
                "the task's",
                &task.intent_digest,
            ));
        }
        if grant.expected_revision != task.revision {
            return Err(mismatch(
                "expected_revision",
                &grant.expected_revision,
                "the task's revision",
                &task.revision,
            ));
        }
        let requested = &task.intent.configuration;
        if requested.adapter.as_str() != REPOSITORY {
            return Err(mismatch(
                "adapter_configuration",
                &REPOSITORY,
                "the task's adapter",
                &requested.adapter,
            ));
        }
        let granted = &configuration.primary.model;
        match &requested.model {
            Some(model) if configuration.routes().any(|route| route.model == *model) => Ok(()),
            Some(model) => Err(mismatch("model", granted, "the task's model", model)),
            None => Err(mismatch("model", granted, "the task's model", &"null")),
        }
    }
}

/// Refuses what a grant may say and this version does not do, each by its name.
fn supported(configuration: &Configuration) -> Result<(), Error> {
    let not = |field, reason| Err(Error::NotSupported { field, reason });
    for route in configuration.routes() {
        generation::check_client_exists(route.provider())?;
    }
    if !configuration.fallbacks.is_empty() {
        return not("fallbacks", "this version runs on one route only: leave it out");
    }
    if configuration.container.is_some() {
        return not(
            "container",
            "this version runs commands in the local boundary only: leave it out",
        );
    }
    match configuration.access {
        Access::Full => Err(Error::AccessUnavailable),
        Access::Boundary | Access::Toolchains => Ok(()),
    }
}

impl Admitted {
    /// The journal's record of the admission.
    pub(crate) fn record(&self) -> Result<Admission, Error> {
        let (value, grant_digest) = Admission::read_grant(&self.grant.text)?;
        let labels = Labels::of_repository(&self.configuration, System::current());
        let adapter = Identifier::new(REPOSITORY).map_err(|error| crate::grant::field("adapter", error.to_string()))?;
        Ok(Admission {
            grant: value,
            grant_digest,
            grant_request: self.grant.text.clone(),
            workspace: text(&self.repository.top)?,
            source_revision: self.repository.head.commit().map(ToString::to_string),
            source_snapshot: self.source.digest(),
            program_digest: world::program_digest(&self.shell)?,
            adapter,
            network: labels.network.to_owned(),
            read_scope: labels.read_scope.to_owned(),
            authority: "local_os_user".to_owned(),
            trace_file: trace_file(&self.task),
            context: serde_json::to_value(&self.context).unwrap_or(Value::Null),
        })
    }
}

/// The name of the trace of a task's current turn.
pub(crate) fn trace_file(task: &Task) -> String {
    format!("{}.{}.atif.jsonl", task.task_id, task.turn())
}

pub(crate) fn cache_path(store: &Path) -> PathBuf {
    store.join("snapshot-digests.bin")
}

/// A complete snapshot of the workspace.
pub(crate) fn observe(clock: &Arc<dyn Clock>, cache: &DigestCache, workspace: &Path) -> Result<Snapshot, Error> {
    let snapshot = Observer::new(clock.as_ref()).cache(cache).observe(workspace)?;
    match snapshot.faults().first() {
        None => Ok(snapshot),
        Some(fault) => Err(Error::SourceIncomplete {
            path: workspace.to_owned(),
            fault: fault.to_string(),
        }),
    }
}

pub(crate) fn boundary_access(access: Access) -> coder_boundary::Access {
    match access {
        Access::Boundary => coder_boundary::Access::Boundary,
        Access::Toolchains => coder_boundary::Access::Toolchains,
        Access::Full => coder_boundary::Access::Full,
    }
}

fn mismatch(
    field: &'static str,
    granted: &dyn std::fmt::Display,
    subject: &'static str,
    actual: &dyn std::fmt::Display,
) -> Error {
    Error::Mismatch {
        field,
        granted: granted.to_string(),
        subject,
        actual: actual.to_string(),
    }
}

fn canonical(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(Error::file("find the workspace", path))
}

pub(crate) fn text(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::PathNotText {
        what: "workspace",
        path: path.to_owned(),
    })
}

fn controller(path: &Path, expected: Option<Digest>) -> Result<Value, Error> {
    let metadata = path.metadata().map_err(Error::file("look at the controller", path))?;
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let digest = match expected {
        // A large controller takes seconds to read, so it is digested only when somebody pinned it.
        None => None,
        Some(expected) => {
            let actual = world::program_digest(path)?;
            if actual != expected {
                return Err(mismatch(
                    "expected_controller_digest",
                    &expected,
                    "the running controller",
                    &actual,
                ));
            }
            Some(actual)
        }
    };
    Ok(json!({
        "path": path.display().to_string(),
        "digest": digest,
        "bytes": metadata.len(),
        "modified_ms": modified.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        "version": VERSION,
    }))
}
