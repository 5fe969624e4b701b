//! Starting a run that outlives who starts it. What can be found wrong now is refused now; then the exact grant and a private
//! diagnostic file are kept, and this program is started once more, in a session of its own and with exactly the
//! environment it needs. Whether it was admitted is found out later: by looking at the task, and in the diagnostic.

use crate::bounded;
use crate::clients::{CLAUDE_LOGIN, CLAUDE_PLACES, REMOTE, Routes};
use crate::configuration::{Access, Generation};
use crate::confine::Environment;
use crate::grant::{Grant, Work};
use crate::store_place::open_existing;
use crate::{Error, admission, request};
use coder_boundary::toolchains::Variable;
use coder_digest::{Clock, Digest, TaskId};
use coder_journal::{Store, Task};
use coder_process::{Cancel, Detached};
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::Serialize;
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which command the started program is to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrying {
    /// A repository run.
    Repository,
    /// A bounded command.
    BoundedCommand,
}

/// What a detached start is given.
pub struct DetachedStart<'a> {
    /// The grant's exact bytes.
    pub grant: &'a [u8],
    /// The task store, an absolute path that must exist.
    pub store: &'a Path,
    /// What the grant must be for.
    pub carrying: Carrying,
    /// What the started program is called, its first argument.
    pub name: OsString,
    /// The words that make it carry out a grant; `--grant` and `--store` follow them.
    pub words: Vec<OsString>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The host's environment.
    pub environment: &'a Environment<'a>,
}

/// What a launcher knows: the start, and nothing of the admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// The task.
    pub task_id: TaskId,
    /// The process of the run's owner.
    pub owner_process: i32,
    /// Always `pending`.
    pub admission: &'static str,
    /// The digest of the exact grant.
    pub grant_digest: Digest,
    /// Where the owner says what became of it.
    pub diagnostic_path: PathBuf,
    /// What to do next.
    pub message: &'static str,
}

/// Starts it.
///
/// # Errors
/// What a run in the foreground would refuse of the grant, the task and the provider; [`Error::AlreadyStarted`] while an
/// earlier start of the task lives; [`Error::File`], [`Error::Process`]. Nothing is left running then.
pub fn start_detached(start: &DetachedStart<'_>) -> Result<Pending, Error> {
    let grant = Grant::parse(start.grant)?;
    let store = open_existing(start.store, Arc::clone(&start.clock))?;
    let task = store.show(&grant.task_id)?;
    check(start, &grant, &task)?;
    let folder = Folder::open(&store)?;
    let claim = folder.claim(&task.task_id)?;
    // Again under the claim: the start that held it until now may have run the task.
    check(start, &grant, &store.show(&grant.task_id)?)?;
    let stamp = start.clock.now().0;
    let kept = folder.path.join(format!("{}.{stamp}.grant.json", task.task_id));
    let diagnostic = folder.path.join(format!("{}.{stamp}.diagnostic.jsonl", task.task_id));
    folder.keep(&kept, grant.text.as_bytes())?;
    let line = json!({ "launch": { "task_id": task.task_id, "grant_digest": grant.digest, "at": start.clock.now() } });
    let output = folder.keep(&diagnostic, format!("{line}\n").as_bytes())?;
    folder.sync()?;
    let mut arguments = start.words.clone();
    let named = [("--grant", kept.as_path()), ("--store", store.path())];
    arguments.extend(named.into_iter().flat_map(|(name, path)| [name.into(), path.into()]));
    let detached = Detached {
        name: start.name.clone(),
        arguments,
        environment: needed(&grant, start.environment),
        // A place that is always there and that nobody wants to unmount.
        directory: PathBuf::from("/"),
        output: &output,
        held: Some(claim.as_fd()),
    };
    let owner = detached.start()?;
    Ok(Pending {
        task_id: task.task_id,
        owner_process: owner.0,
        admission: "pending",
        grant_digest: grant.digest,
        diagnostic_path: diagnostic,
        message: "started; `coder task show` says whether it was admitted, and the diagnostic why it was not",
    })
}

/// Everything that can be found wrong without touching the workspace.
fn check(start: &DetachedStart<'_>, grant: &Grant, task: &Task) -> Result<(), Error> {
    match start.carrying {
        Carrying::BoundedCommand => {
            bounded::wall(grant)?;
            bounded::compare(grant, task)
        }
        Carrying::Repository => {
            let Work::Repository(configuration) = &grant.work else {
                return Err(crate::grant::field(
                    "adapter_configuration",
                    "a repository run needs one; `coder task start` starts a bounded command",
                ));
            };
            admission::supported(configuration)?;
            request::compare_repository(grant, task, configuration)?;
            Routes::build(
                configuration,
                &task.task_id,
                start.environment,
                &start.clock,
                &Cancel::never(),
            )
            .map(drop)
        }
    }
}

/// Who a person is and where their programs are, for tools and sign-ins that ask.
const PERSON: [&str; 9] = [
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    crate::patience::VARIABLE,
];
/// Whether decisions are asked, which the run says in its trace.
const DECISIONS: &str = "TYPESAFE_API_KEY";

/// The environment of the started program: the person's, what the grant names, and nothing else that happens to be set.
fn needed(grant: &Grant, environment: &Environment<'_>) -> Vec<(OsString, OsString)> {
    let mut names: Vec<String> = PERSON.iter().map(ToString::to_string).collect();
    if let Work::Repository(configuration) = &grant.work {
        names.push(DECISIONS.to_owned());
        for route in configuration.routes() {
            names.extend(of_provider(&route.generation));
        }
        match configuration.access {
            Access::Boundary | Access::Full => {}
            Access::Toolchains => {
                let variables = Variable::ALL.iter().map(|variable| variable.name());
                names.extend(
                    variables
                        .chain(["PATH"])
                        .flat_map(|name| [name.to_owned(), format!("OPENAGENTS_TOOLCHAIN_{name}")]),
                );
            }
        }
    }
    names.sort();
    names.dedup();
    let set = |name: String| Some((OsString::from(&name), environment(&name)?));
    names.into_iter().filter_map(set).collect()
}

/// What one provider's client reads.
fn of_provider(generation: &Generation) -> Vec<String> {
    let (own, remote): (Vec<String>, &[&str]) = match generation {
        Generation::Scripted { .. } | Generation::Synthetic => (Vec::new(), &[]),
        Generation::Openai { credential_env, .. } => (credential_env.iter().cloned().collect(), &REMOTE),
        Generation::Anthropic { credential_env, .. } => (vec![credential_env.clone()], &REMOTE),
        Generation::Codex => (vec!["CODEX_HOME".to_owned()], &REMOTE),
        Generation::Claude => {
            let own = CLAUDE_PLACES.iter().chain(&CLAUDE_LOGIN);
            (own.map(ToString::to_string).collect(), &REMOTE)
        }
        Generation::Devin | Generation::Opencode | Generation::Grok => (Vec::new(), &REMOTE),
    };
    let remote = remote.iter().map(ToString::to_string);
    own.into_iter().chain(remote).collect()
}

/// `launch/` of a store.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn open(store: &Store) -> Result<Self, Error> {
        let path = store.path().join("launch");
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .recursive(true)
            .create(&path)
            .map_err(Error::file("create", &path))?;
        Ok(Self { path })
    }

    /// The right to have a start of this task alive. It passes to the started program with the open file, and ends with it.
    fn claim(&self, task: &TaskId) -> Result<File, Error> {
        let path = self.path.join(format!("{task}.lock"));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| Error::file("open", &path)(errno.into()))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(File::from(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::AlreadyStarted { task: task.clone() }),
            Err(errno) => Err(Error::file("lock", &path)(errno.into())),
        }
    }

    /// A new private file with these bytes, durable; open to append more.
    fn keep(&self, path: &Path, bytes: &[u8]) -> Result<File, Error> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| Error::file("create", path)(errno.into()))?;
        let mut file = File::from(file);
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(Error::file("write", path))?;
        Ok(file)
    }

    fn sync(&self) -> Result<(), Error> {
        File::open(&self.path)
            .and_then(|directory| directory.sync_all())
            .map_err(Error::file("sync", &self.path))
    }
}

#[cfg(test)]
#[path = "detached_tests.rs"]
mod tests;
