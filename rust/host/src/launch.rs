//! The friendly door: from a prompt and a repository to a candidate. Makes the linked worktree and branch, submits the
//! task, writes the grant, runs it, and says what came of it. Adds no authority of its own: everything passes through
//! the same command, grant and admission as an operator's exact files.

use crate::admission::text;
use crate::checks::{CheckRun, NamedSuites, run_checks};
use crate::clients::Routes;
use crate::configuration::Configuration;
use crate::confine::Environment;
use crate::grant::{Grant, NewGrant, WorkspaceAccess};
use crate::limits::Limits;
use crate::progress::{Progress, Watcher};
use crate::repository::run_repository;
use crate::run::GrantRun;
use crate::view::KeptPatch;
use crate::{Error, grant, view};
use coder_boundary::Level;
use coder_digest::{Clock, Digest, Identifier, TaskId, Timestamp};
use coder_journal::{COMMAND_SCHEMA, REPOSITORY, Store, Task};
use coder_process::Cancel;
use coder_workspace::{
    BranchFate, BranchName, Change, CommitId, Git, Head, Repository, Uncommitted, Worktree, Worktrees,
};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest title made from a prompt, in bytes.
const TITLE_BYTES: usize = 72;

/// What the friendly door is given.
pub struct Launch<'a> {
    /// What the agent is asked to do.
    pub prompt: &'a str,
    /// A directory of the repository.
    pub repository: &'a Path,
    /// Who generates, how, and what commands may reach.
    pub configuration: &'a Configuration,
    /// The memory bound of each command's processes, in bytes.
    pub memory_bytes: u64,
    /// The least level of the boundary that is accepted.
    pub require: Level,
    /// Further bounds of each command.
    pub limits: Limits,
    /// Suites that judge the candidate once the run has finished: naming one here lets it run, for this run.
    pub checks: &'a [PathBuf],
    /// The store; made if it is missing.
    pub store: &'a Path,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Stops the run.
    pub cancel: Cancel,
    /// The host's environment.
    pub environment: &'a Environment<'a>,
    /// The running executable.
    pub controller: &'a Path,
    /// Random bytes for the task's name.
    pub entropy: [u8; 4],
}

/// What came of it.
#[derive(Debug)]
pub struct Launched {
    /// The task, with its result.
    pub task: Task,
    /// The checkout the run began from.
    pub repository: PathBuf,
    /// The run's own worktree.
    pub worktree: PathBuf,
    /// Its branch.
    pub branch: BranchName,
    /// The commit it began with.
    pub base: CommitId,
    /// How the worktree stands now; the reason where Git cannot say, after a run that damaged it.
    pub stands: Result<Standing, String>,
    /// The host's sentence on how it ended.
    pub summary: Option<String>,
    /// The kept patch against the starting commit, if one could be made.
    pub patch: Option<KeptPatch>,
    /// The changed paths, once the candidate was kept.
    pub changes: Vec<Change>,
    /// What the user had not committed, and the run therefore did not see.
    pub unseen: Uncommitted,
    /// What the model said to the user last.
    pub reply: Option<String>,
    /// Why the suites that were named could not even be asked.
    pub unchecked: Option<String>,
}

/// How a worktree stands after its run.
#[derive(Debug)]
pub struct Standing {
    /// The commit it is at.
    pub head: Option<CommitId>,
    /// Where HEAD points, if the run moved it away from its own branch.
    pub moved: Option<String>,
    /// What is not committed.
    pub left: Uncommitted,
}

impl Launch<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// What keeps the run from starting; the worktree is removed again then. A run that started ends in a result.
    pub fn run<'w>(&self, watcher: &'w mut Watcher<'w>) -> Result<Launched, Error> {
        let git = Git::find()?;
        let repository = containing(&git, self.repository)?;
        let unseen = repository.uncommitted(&git)?;
        let base = repository.head.commit().cloned().ok_or_else(|| Error::NoCommit {
            path: repository.top.clone(),
        })?;
        let task_id = task_id(self.clock.now(), self.entropy)?;
        let suites = NamedSuites::find(self.checks, self.store, &task_id, self.configuration.access)?;
        self.check(&task_id, &repository, &base, suites.as_ref())?;
        keep_outside(self.store, &repository)?;
        let store = Store::open(self.store, Arc::clone(&self.clock))?;
        let worktrees = Worktrees::open(git.clone(), &store.path().join("worktrees"))?;
        let branch = BranchName::candidate(&task_id)?;
        let directory = worktree_place(store.path()).join(task_id.as_str());
        make_parent(&directory)?;
        let worktree = worktrees.create(&repository, &directory, &branch, &base)?;
        let started = self.submit_and_run(&store, &task_id, &worktree, suites.as_ref(), watcher);
        let task = match started {
            Ok(task) => task,
            Err(error) => {
                suites.iter().for_each(NamedSuites::remove);
                // Nothing ran there: after admission a run ends in a result and not in an error.
                match store.show(&task_id) {
                    Ok(task) if task.run.is_some() => return Err(error),
                    Ok(task) => withdraw(&store, &task)?,
                    Err(_) => {}
                }
                worktrees.remove(&directory, BranchFate::Drop)?;
                return Err(error);
            }
        };
        let (task, unchecked) = match &suites {
            Some(suites) => self.judged(&store, task, suites),
            None => (task, None),
        };
        let disposition = view::said(&store, &task);
        Ok(Launched {
            unchecked,
            changes: view::candidate(&store, &task)
                .map(|manifest| manifest.changes)
                .unwrap_or_default(),
            stands: standing(&git, &worktree).map_err(|error| error.message()),
            summary: disposition.summary,
            patch: disposition.patch,
            reply: disposition.reply,
            repository: repository.top,
            worktree: worktree.repository.top,
            branch,
            base,
            unseen,
            task,
        })
    }

    /// Everything that can be found wrong before anything is made: the command, the grant, the client. The workspace
    /// stands in for the worktree, and the intent's digest is not known yet; nothing here depends on either.
    fn check(
        &self,
        task_id: &TaskId,
        repository: &Repository,
        base: &CommitId,
        suites: Option<&NamedSuites>,
    ) -> Result<(), Error> {
        let command = self.submit_command(task_id, &repository.top, base)?;
        coder_journal::Command::parse(command.as_bytes())?;
        self.grant(task_id, Digest::of(command.as_bytes()), 1, suites)?;
        Routes::build(self.configuration, task_id, self.environment, &self.clock, &self.cancel)?;
        Ok(())
    }

    /// The suites judge the candidate. What keeps them from it does not take the candidate away.
    fn judged(&self, store: &Store, task: Task, suites: &NamedSuites) -> (Task, Option<String>) {
        let trust = suites.trust();
        let run = CheckRun {
            task: &task.task_id,
            store: store.path(),
            clock: Arc::clone(&self.clock),
            cancel: self.cancel.clone(),
            environment: self.environment,
            trust: &trust,
        };
        match run_checks(&run) {
            Ok(judged) => {
                suites.remove();
                (judged, None)
            }
            Err(error) => (task, Some(error.message())),
        }
    }

    fn grant(
        &self,
        task_id: &TaskId,
        intent_digest: Digest,
        expected_revision: u64,
        suites: Option<&NamedSuites>,
    ) -> Result<Grant, Error> {
        let shell = if Path::new("/bin/bash").exists() {
            "/bin/bash"
        } else {
            "/bin/sh"
        };
        grant::write(&NewGrant {
            task_id,
            intent_digest,
            expected_revision,
            expected_source_snapshot: None,
            program: Path::new(shell),
            workspace_access: WorkspaceAccess::Write,
            memory_bytes: self.memory_bytes,
            require: self.require,
            limits: self.limits,
            requirements: suites.map(|suites| &suites.requirements),
            configuration: self.configuration,
        })
    }

    fn submit_and_run<'w>(
        &self,
        store: &Store,
        task_id: &TaskId,
        worktree: &Worktree,
        suites: Option<&NamedSuites>,
        watcher: &'w mut Watcher<'w>,
    ) -> Result<Task, Error> {
        if let Some(suites) = suites {
            suites.approve(self.clock.as_ref())?;
        }
        let command = self.submit_command(task_id, &worktree.repository.top, &worktree.base)?;
        let receipt = store.command(command.as_bytes())?;
        let task = store.show(task_id)?;
        watcher(&Progress::Prepared {
            task: task_id,
            worktree: &worktree.repository.top,
        });
        let grant = self.grant(task_id, task.intent_digest, receipt.revision, suites)?;
        keep_grant(store.path(), task_id, &grant)?;
        let run = GrantRun {
            grant: grant.text.as_bytes(),
            store: store.path(),
            clock: Arc::clone(&self.clock),
            cancel: self.cancel.clone(),
            environment: self.environment,
            controller: self.controller,
        };
        run_repository(run, watcher)
    }

    fn submit_command(&self, task_id: &TaskId, workspace: &Path, base: &CommitId) -> Result<String, Error> {
        let command = json!({
            "schema": COMMAND_SCHEMA,
            "command_id": format!("submit-{task_id}"),
            "task_id": task_id,
            "expected_revision": null,
            "action": {
                "type": "submit",
                "intent": {
                    "title": title(self.prompt),
                    "prompt": self.prompt,
                    "workspace": { "path": text(workspace)?, "source_revision": base },
                    "configuration": { "adapter": REPOSITORY, "model": self.configuration.primary.model },
                },
            },
        });
        Ok(command.to_string())
    }
}

/// Cancels a task whose worktree goes again, so that no grant can start it on a tree that is not there.
fn withdraw(store: &Store, task: &Task) -> Result<(), Error> {
    let command_id = Identifier::new(format!("withdraw-{}", task.task_id));
    let command_id = command_id.map_err(|error| grant::field("command_id", error.to_string()))?;
    store.cancel_now(&command_id, &task.task_id, "the run could not begin")?;
    Ok(())
}

/// Looks at the worktree after the run, whose files the run may have damaged or turned elsewhere.
fn standing(git: &Git, worktree: &Worktree) -> Result<Standing, Error> {
    let after = Repository::identify(git, &worktree.repository.top)?;
    let own = worktree.branch.reference();
    let moved = match &after.head {
        Head::Branch { reference, .. } | Head::Unborn { reference } if reference.as_bytes() == own.as_bytes() => None,
        Head::Branch { reference, .. } | Head::Unborn { reference } => Some(reference.to_string()),
        Head::Detached { commit } => Some(commit.to_string()),
    };
    Ok(Standing {
        head: after.head.commit().cloned(),
        moved,
        left: after.uncommitted(git)?,
    })
}

/// Refuses a store in the repository before anything is made there.
fn keep_outside(store: &Path, repository: &Repository) -> Result<(), Error> {
    let mut existing = store;
    let resolved = loop {
        match (existing.canonicalize(), existing.parent()) {
            (Ok(resolved), _) => break resolved,
            (Err(_), Some(parent)) => existing = parent,
            (Err(_), None) => return Ok(()),
        }
    };
    let inside = |tree: &Path| resolved.starts_with(tree);
    if inside(&repository.top) || inside(&repository.common_directory) {
        return Err(Error::StoreOverlaps {
            store: store.to_owned(),
            workspace: repository.top.clone(),
        });
    }
    Ok(())
}

/// The checkout that `path` is in, from any directory of it.
fn containing(git: &Git, path: &Path) -> Result<Repository, Error> {
    match Repository::identify(git, path) {
        Err(coder_workspace::Error::NotTopLevel { top, .. }) => Ok(Repository::identify(git, &top)?),
        other => Ok(other?),
    }
}

/// Where the worktrees of a store stand: beside it, since a workspace and its store may not overlap.
pub fn worktree_place(store: &Path) -> PathBuf {
    let mut name = store.file_name().map(std::ffi::OsStr::to_owned).unwrap_or_default();
    name.push("-worktrees");
    store.with_file_name(name)
}

fn make_parent(directory: &Path) -> Result<(), Error> {
    let parent = directory.parent().unwrap_or(directory);
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .recursive(true)
        .create(parent)
        .map_err(Error::file("create", parent))
}

/// `run-20261130-121500-0f3a9c1b`: sorts by time, and two started in one second differ.
fn task_id(now: Timestamp, entropy: [u8; 4]) -> Result<TaskId, Error> {
    let written: String = now.to_string().chars().filter(char::is_ascii_digit).collect();
    let (day, rest) = written.split_at(written.len().min(8));
    let time: String = rest.chars().take(6).collect();
    let random = u32::from_be_bytes(entropy);
    TaskId::new(format!("run-{day}-{time}-{random:08x}")).map_err(|error| grant::field("task_id", error.to_string()))
}

/// The first line of the prompt that says something, cut at a character.
fn title(prompt: &str) -> String {
    let line = prompt
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("untitled");
    let plain: String = line.chars().filter(|character| !character.is_control()).collect();
    if plain.len() <= TITLE_BYTES {
        return plain;
    }
    let mut end = TITLE_BYTES;
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", plain.get(..end).unwrap_or_default().trim_end())
}

/// The exact grant is kept beside the journal before it is used, so that an operator can see what was asked. Whole or
/// not at all: half a grant would be taken for a damaged one.
fn keep_grant(store: &Path, task_id: &TaskId, grant: &Grant) -> Result<(), Error> {
    let path = store.join("launch").join(format!("{task_id}.grant.json"));
    make_parent(&path)?;
    let directory = path.parent().unwrap_or(store);
    let act = |act| Error::file(act, &path);
    // Made with mode 0600, and removed again if anything fails before it has its name.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(act("create"))?;
    file.write_all(grant.text.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(act("write"))?;
    file.persist_noclobber(&path)
        .map_err(|error| act("create")(error.error))?;
    std::fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(Error::file("sync", directory))
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
