//! What is compared before a bounded command is admitted: the grant with the task, the workspace and the machine. Everything
//! that only looks comes first, so that a refusal leaves nothing.

use crate::admission::{Asked, Observed, Tree, text, trace_file};
use crate::configuration::Access;
use crate::confine::{Confine, Confined};
use crate::context::{Capture, Context};
use crate::grant::Grant;
use crate::labels::Labels;
use crate::request::{self, own};
use crate::sweep::{self, Recovered, ScratchPlace};
use crate::{Error, controller, recovery, world};
use coder_boundary::Enforced;
use coder_boundary::toolchains::System;
use coder_digest::{Digest, Identifier};
use coder_journal::{Admission, BOUNDED_COMMAND, Owner, Task};
use coder_workspace::Repository;
use serde_json::Value;
use std::path::PathBuf;

/// A bounded-command grant whose every pin held, with the ownership of its task.
pub(super) struct Admitted {
    pub(super) grant: Grant,
    pub(super) owner: Owner,
    pub(super) task: Task,
    pub(super) program: PathBuf,
    pub(super) program_digest: Digest,
    pub(super) tree: Observed,
    pub(super) confined: Confined,
    pub(super) demand: Enforced,
    pub(super) controller: Value,
    /// What the checks are held to; nothing where the grant pins none, since there is no model to be told.
    pub(super) context: Option<Context>,
    pub(super) recovered: Vec<Recovered>,
}

impl Admitted {
    /// Compares everything. A refusal leaves the store as it was.
    pub(super) fn admit(asked: Asked<'_>) -> Result<Self, Error> {
        if let Some(requirements) = &asked.grant.requirements {
            requirements.admissible()?;
            if !requirements.knowledge.is_empty() {
                let rule = "a bounded command has no model to read documents: leave `knowledge` empty";
                return Err(crate::grant::field("requirements", rule));
            }
        }
        let task_id = asked.grant.task_id.clone();
        compare(&asked.grant, &asked.store.show(&task_id)?)?;
        let mut owner = Some(own(asked.store, &task_id, asked.cancel)?);
        let admitted = Self::compare_world(asked, &mut owner);
        if let (Err(_), Some(owner)) = (&admitted, owner) {
            owner.abandon();
        }
        admitted
    }

    /// Everything after the ownership, which is taken out of `owner` once the last comparison held.
    fn compare_world(asked: Asked<'_>, owner: &mut Option<Owner>) -> Result<Self, Error> {
        // Whoever owned the task until now may have run or changed it; nobody can any more.
        let task = asked.store.show(&asked.grant.task_id)?;
        compare(&asked.grant, &task)?;
        let workspace = asked.workspace(&task)?;
        let program = asked.grant.program.canonicalize();
        let program = program.map_err(Error::file("find the program", &asked.grant.program))?;
        let program_digest = world::program_digest(&program)?;
        let tree = asked.observed(&task, &workspace)?;
        let mut recovered = sweep::own(asked.store, &task.task_id, &tree.git);
        recovered.extend(sweep::recover(asked.store, &tree.git));
        recovered.extend(sweep::commands(&workspace)?);
        if !recovered.is_empty() && Repository::identify(&tree.git, &workspace)? != tree.repository {
            // What a killed run had committed in this very worktree has just arrived.
            return Err(Error::SourceChanged { path: workspace });
        }
        let nested = tree.source.nested_repositories();
        let confine = Confine {
            repository: &tree.repository,
            access: Access::Boundary,
            network: None,
            workspace_access: asked.grant.workspace_access,
            nested: &nested,
            store: asked.store.path(),
            resources: asked.grant.resources(),
            require: asked.grant.require,
            environment: asked.environment,
            credentials: Vec::new(),
        };
        let confined = confine.prepare(ScratchPlace::create(asked.store.path(), &task.task_id)?)?;
        let demand = confined.boundary.demand();
        confined
            .boundary
            .planned()
            .satisfies(&demand)
            .map_err(|shortfall| Error::TooLittleEnforced {
                missing: shortfall.to_string(),
            })?;
        let context = match &asked.grant.requirements {
            None => None,
            Some(requirements) => {
                let capture = Capture {
                    task: &task,
                    workspace: &workspace,
                    requirements: Some(requirements),
                    suites: asked.suites(&tree.repository)?,
                };
                Some(capture.run()?)
            }
        };
        let controller = controller::identify(asked.controller, None)?;
        recovery::settle_overlapping(asked.store, &task.task_id, &workspace)?;
        let Some(owner) = owner.take() else {
            return Err(Error::Absent {
                task: task.task_id,
                what: "owner",
            });
        };
        Ok(Self {
            grant: asked.grant,
            owner,
            task,
            program,
            program_digest,
            tree,
            confined,
            demand,
            controller,
            context,
            recovered,
        })
    }

    /// Gives up before anything was recorded.
    pub(super) fn abandon(self) {
        // The scratch goes while the ownership still keeps it from others.
        drop(self.confined);
        self.owner.abandon();
    }

    pub(super) fn tree(&self) -> Tree<'_> {
        Tree {
            git: &self.tree.git,
            repository: &self.tree.repository,
            source: &self.tree.source,
            cache: &self.tree.cache,
            scratch: self.confined.place.path(),
        }
    }

    /// The journal's record of the admission.
    pub(super) fn record(&self) -> Result<Admission, Error> {
        let (value, grant_digest) = Admission::read_grant(&self.grant.text)?;
        let labels = Labels::of_boundary(System::current());
        let adapter =
            Identifier::new(BOUNDED_COMMAND).map_err(|error| crate::grant::field("adapter", error.to_string()))?;
        Ok(Admission {
            grant: value,
            grant_digest,
            grant_request: self.grant.text.clone(),
            workspace: text(&self.tree.repository.top)?,
            source_revision: self.tree.repository.head.commit().map(ToString::to_string),
            source_snapshot: self.tree.source.digest(),
            program_digest: self.program_digest,
            adapter,
            network: labels.network.to_owned(),
            read_scope: labels.read_scope.to_owned(),
            authority: "local_os_user".to_owned(),
            trace_file: trace_file(&self.task),
            context: serde_json::to_value(&self.context).unwrap_or(Value::Null),
        })
    }
}

/// The grant is for this task, which asks for a bounded command and no model.
pub(crate) fn compare(grant: &Grant, task: &Task) -> Result<(), Error> {
    request::compare(grant, task, BOUNDED_COMMAND)?;
    match &task.intent.configuration.model {
        None => Ok(()),
        Some(model) => Err(Error::mismatch("model", &"null", "the task's model", model)),
    }
}
