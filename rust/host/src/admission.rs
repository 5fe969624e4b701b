//! Admission: a grant is compared with the task, the workspace and the machine, in the order of facts 3.7, and only then
//! becomes [`Admitted`]. Nothing is recorded and nothing runs before the last comparison held. The task is compared before
//! it is owned, so that a grant for a running one need not wait, and again after; a refusal takes everything back.

use crate::checks::{self, Outside};
use crate::clients::{Routes, check_client_exists};
use crate::configuration::{Access, Configuration};
use crate::confine::{Confine, Confined, Environment};
use crate::context::{Capture, Context, Uncaptured};
use crate::controller;
use crate::grant::{Grant, Work, WorkspaceAccess};
use crate::judge::Decisions;
use crate::labels::Labels;
use crate::request::{compare_repository, own};
use crate::shell_word::shell_path;
use crate::sweep::{self, Recovered, ScratchPlace};
use crate::{Error, recovery, shell, world};
use coder_boundary::Enforced;
use coder_boundary::toolchains::System;
use coder_digest::{Clock, Identifier};
use coder_failover::Books;
use coder_journal::{Admission, Owner, REPOSITORY, Store, Task};
use coder_process::Cancel;
use coder_workspace::{CheckoutKind, DigestCache, Git, Observer, Repository, Snapshot};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many names for a worktree are tried before one that is taken is suggested.
const SUGGESTIONS: u32 = 9;

/// What is compared with.
pub(crate) struct Asked<'a> {
    pub(crate) grant: Grant,
    pub(crate) store: &'a Store,
    pub(crate) environment: &'a Environment<'a>,
    pub(crate) controller: &'a Path,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) cancel: &'a Cancel,
}

/// What answers the loop: who generates, and who judges.
pub(crate) struct Models {
    pub(crate) routes: Routes,
    pub(crate) decisions: Decisions,
}

/// A workspace that is as the grant and the intent say.
pub(crate) struct Observed {
    pub(crate) git: Git,
    pub(crate) repository: Repository,
    pub(crate) source: Snapshot,
    pub(crate) cache: DigestCache,
}

/// The tree a run works on, as it was admitted.
pub(crate) struct Tree<'a> {
    pub(crate) git: &'a Git,
    pub(crate) repository: &'a Repository,
    pub(crate) source: &'a Snapshot,
    pub(crate) cache: &'a DigestCache,
    /// A private directory for what is made on the way.
    pub(crate) scratch: &'a Path,
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
    pub(crate) uncaptured: Uncaptured,
    pub(crate) controller: Value,
    /// What was taken over of runs whose hosts were killed.
    pub(crate) recovered: Vec<Recovered>,
}

impl Asked<'_> {
    /// Compares everything in the order of facts 3.7, and builds the clients that are to be called. A refusal leaves the store
    /// as it was.
    pub(crate) fn admit(self) -> Result<(Admitted, Models), Error> {
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
        let task_id = self.grant.task_id.clone();
        let models = Models {
            routes: Routes::build(&configuration, &task_id, self.environment, self.clock, self.cancel)?,
            decisions: Decisions::of(&configuration, self.environment)?,
        };
        // Whom a limit holds would be a guess.
        let books = Books::new(self.store.path());
        books.capacity()?;
        books.usage()?;
        compare_repository(&self.grant, &self.store.show(&task_id)?, &configuration)?;
        let mut owner = Some(own(self.store, &task_id, self.cancel)?);
        let admitted = self.compare_world(configuration, &mut owner);
        if let (Err(_), Some(owner)) = (&admitted, owner) {
            owner.abandon();
        }
        Ok((admitted?, models))
    }

    /// Everything after the ownership, which is taken out of `owner` once the last comparison held.
    fn compare_world(self, configuration: Configuration, owner: &mut Option<Owner>) -> Result<Admitted, Error> {
        // Whoever owned the task until now may have run or changed it; nobody can any more.
        let task = self.store.show(&self.grant.task_id)?;
        compare_repository(&self.grant, &task, &configuration)?;

        let store = self.store.path();
        let workspace = self.workspace(&task)?;
        let shell = shell::admit(&self.grant.program)?;
        let Observed {
            git,
            repository,
            source,
            cache,
        } = self.observed(&task, &workspace)?;

        let mut recovered = sweep::own(self.store, &task.task_id, &git);
        recovered.extend(sweep::recover(self.store, &git));
        recovered.extend(sweep::commands(&workspace)?);
        if !recovered.is_empty() && Repository::identify(&git, &workspace)? != repository {
            // What a killed run had committed in this very worktree has just arrived.
            return Err(Error::SourceChanged { path: workspace });
        }
        let nested = source.nested_repositories();
        let confine = Confine {
            repository: &repository,
            access: configuration.access,
            network: configuration.network.as_ref(),
            workspace_access: self.grant.workspace_access,
            nested: &nested,
            store,
            resources: self.grant.resources(),
            require: self.grant.require,
            environment: self.environment,
            credentials: configuration.credentials(),
        };
        let confined = confine.prepare(ScratchPlace::create(store, &task.task_id)?)?;
        let demand = confined.demand();
        confined
            .boundary
            .planned()
            .satisfies(&demand)
            .map_err(|shortfall| Error::TooLittleEnforced {
                missing: shortfall.to_string(),
            })?;
        let description = crate::confine::describe(&confine, &shell, &confined.network);

        let capture = Capture {
            task: &task,
            workspace: &workspace,
            requirements: self.grant.requirements.as_ref(),
            suites: self.suites(&repository)?,
        };
        let context = capture.run()?;
        let uncaptured = Uncaptured::find(&source, &context.instructions);
        let controller = controller::identify(self.controller, configuration.expected_controller_digest)?;
        // Last, so that a refusal leaves other tasks too as they were.
        recovery::settle_overlapping(self.store, &task.task_id, &workspace)?;
        let Some(owner) = owner.take() else {
            return Err(Error::Absent {
                task: task.task_id,
                what: "owner",
            });
        };
        Ok(Admitted {
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
            uncaptured,
            controller,
            recovered,
        })
    }

    /// The task's workspace, which must be written canonically and lie apart from the store.
    pub(crate) fn workspace(&self, task: &Task) -> Result<PathBuf, Error> {
        let (written, store) = (&task.intent.workspace.path, self.store.path());
        let path = canonical(Path::new(written))?;
        if path.starts_with(store) || store.starts_with(&path) {
            return Err(Error::StoreOverlaps {
                store: store.to_owned(),
                workspace: path,
            });
        }
        if *written != text(&path)? {
            return Err(Error::mismatch(
                "workspace",
                written,
                "the canonical path",
                &path.display(),
            ));
        }
        Ok(path)
    }

    /// The suites of the requirements as they are now, out of reach of the run.
    pub(crate) fn suites(&self, repository: &Repository) -> Result<Vec<Value>, Error> {
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

    /// The workspace, compared with the grant and the intent and observed whole.
    pub(crate) fn observed(&self, task: &Task, workspace: &Path) -> Result<Observed, Error> {
        let git = Git::find()?;
        let repository = Repository::identify(&git, workspace)?;
        compare_revision(task, &repository)?;
        if self.grant.workspace_access == WorkspaceAccess::Write && repository.kind == CheckoutKind::Checkout {
            return Err(writable_checkout(&repository));
        }

        let cache = DigestCache::load(&cache_path(self.store.path()));
        let stop = || self.cancel.is_cancelled();
        let source = observe_unless(self.clock, &cache, workspace, &stop).map_err(|error| match stop() {
            true => Error::Stopped,
            false => error,
        })?;
        if let Some(pinned) = self.grant.expected_source_snapshot
            && pinned != source.digest()
        {
            return Err(Error::mismatch(
                "expected_source_snapshot",
                &pinned,
                "the workspace's snapshot",
                &source.digest(),
            ));
        }
        Ok(Observed {
            git,
            repository,
            source,
            cache,
        })
    }
}

/// Refuses what a grant may say and this version does not do, each by its name.
pub(crate) fn supported(configuration: &Configuration) -> Result<(), Error> {
    let not = |field, reason| Err(Error::NotSupported { field, reason });
    for route in configuration.routes() {
        check_client_exists(route.provider())?;
    }
    if configuration.container.is_some() {
        return not(
            "container",
            "this version runs commands in the local boundary only: leave it out",
        );
    }
    Ok(())
}

impl Admitted {
    /// Gives up before anything was recorded.
    pub(crate) fn abandon(self) {
        // The scratch goes while the ownership still keeps it from others.
        drop(self.confined);
        self.owner.abandon();
    }

    /// The tree as it was admitted.
    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree {
            git: &self.git,
            repository: &self.repository,
            source: &self.source,
            cache: &self.cache,
            scratch: self.confined.place.path(),
        }
    }

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

/// A complete snapshot of the workspace, given up when `stop` says so.
pub(crate) fn observe_unless(
    clock: &Arc<dyn Clock>,
    cache: &DigestCache,
    workspace: &Path,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Snapshot, Error> {
    let snapshot = Observer::new(clock.as_ref())
        .cache(cache)
        .interrupt(stop)
        .observe(workspace)?;
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

/// The commit the workspace is at is the one the task names, where it names one.
fn compare_revision(task: &Task, repository: &Repository) -> Result<(), Error> {
    let Some(commit) = repository.head.commit() else {
        return Err(Error::NoCommit {
            path: repository.top.clone(),
        });
    };
    match &task.intent.workspace.source_revision {
        Some(revision) if revision != commit.as_str() => {
            Err(Error::mismatch("source_revision", revision, "HEAD", commit))
        }
        Some(_) | None => Ok(()),
    }
}

/// Says how to make the worktree that a writing run needs, beside the checkout and under a name that is free.
fn writable_checkout(repository: &Repository) -> Error {
    let top = &repository.top;
    let beside = |number: u32| {
        let mut name = top.file_name().map(std::ffi::OsStr::to_owned).unwrap_or_default();
        name.push(if number == 1 {
            "-worktree".to_owned()
        } else {
            format!("-worktree-{number}")
        });
        top.with_file_name(name)
    };
    let free = |place: &PathBuf| place.symlink_metadata().is_err();
    let worktree = (1..=SUGGESTIONS).map(beside).find(free).unwrap_or_else(|| beside(1));
    Error::WritableCheckout {
        path: top.clone(),
        command: format!(
            "git -C {} worktree add --detach {}",
            shell_path(top),
            shell_path(&worktree)
        ),
        worktree,
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

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
