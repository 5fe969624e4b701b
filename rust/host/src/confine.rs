//! From a grant's access mode and a repository to the boundary its commands run in. Only decides the policy; checking
//! and enforcing it is the boundary's.

use crate::configuration::Access;
use crate::git_link::Place;
use crate::grant::WorkspaceAccess;
use crate::quarantine::Held;
use crate::sweep::ScratchPlace;
use crate::{Error, git_link};
use coder_boundary::toolchains::{self, Described, RealHost, System, Toolchains};
use coder_boundary::{Boundary, Mode, Network, Policy, Resources, Scratch, Workspace};
use coder_digest::{BytePath, display_bytes};
use coder_workspace::{CheckoutKind, Head, LinkedPlace, ReferenceFormat, Repository};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The open files of one command's process.
const OPEN_FILES: u64 = 4096;
/// Processes and threads of one command, where the kernel counts them.
const PROCESSES: u64 = 4096;

/// Reads a variable of the host's environment.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// What a run's boundary is made from.
pub(crate) struct Confine<'a> {
    pub(crate) repository: &'a Repository,
    pub(crate) access: Access,
    /// The network, if it is not what the access mode has.
    pub(crate) network: Option<&'a Network>,
    pub(crate) workspace_access: WorkspaceAccess,
    /// Repositories of their own in the workspace, relative to it: what steers Git in them stays as it is.
    pub(crate) nested: &'a [BytePath],
    pub(crate) store: &'a Path,
    pub(crate) memory_bytes: u64,
    pub(crate) environment: &'a Environment<'a>,
}

/// The boundary with what was derived for it.
pub(crate) struct Confined {
    pub(crate) boundary: Boundary,
    pub(crate) toolchains: Option<Toolchains>,
    pub(crate) network: Network,
    /// What Git changes, where the run may change anything.
    pub(crate) quarantine: Option<Held>,
    /// After the boundary and the quarantine, which lie in it: fields go in this order.
    pub(crate) place: ScratchPlace,
}

impl Confine<'_> {
    /// Prepares the boundary; its private scratch is made in `place`.
    pub(crate) fn prepare(&self, place: ScratchPlace) -> Result<Confined, Error> {
        let scratch = Scratch::create(place.path())?;
        let git = git_place(self.repository);
        let quarantine = match self.workspace_access {
            WorkspaceAccess::Read => None,
            WorkspaceAccess::Write => Held::for_run(place.path(), &git)?,
        };
        let borrowed = match &quarantine {
            Some(_) => Vec::new(),
            None => git.borrowed()?,
        };
        let mut policy = Policy {
            reads: borrowed,
            workspace: Some(Workspace {
                path: self.repository.top.clone(),
                mode: match self.workspace_access {
                    WorkspaceAccess::Read => Mode::Read,
                    WorkspaceAccess::Write => Mode::Write,
                },
            }),
            guarded: match self.workspace_access {
                WorkspaceAccess::Read => Vec::new(),
                WorkspaceAccess::Write => self.nested_git().collect(),
            },
            sealed: vec![self.store.to_owned()],
            git: Some(quarantine.as_ref().map_or_else(|| git.view(), Held::view)),
            resources: resources(self.memory_bytes),
            environment: git_identity(),
            ..Policy::default()
        };
        let toolchains = match self.access {
            Access::Boundary => None,
            Access::Toolchains => {
                let git = Some(self.repository.common_directory.as_path());
                Some(derive_toolchains(self.environment, self.store, git, &mut policy))
            }
            Access::Full => return Err(Error::AccessUnavailable),
        };
        if let Some(network) = self.network {
            policy.network = network.clone();
        }
        let network = policy.network.clone();
        Ok(Confined {
            boundary: Boundary::prepare(policy, scratch)?,
            toolchains,
            network,
            quarantine,
            place,
        })
    }
}

impl Confine<'_> {
    fn nested_git(&self) -> impl Iterator<Item = PathBuf> {
        let top = &self.repository.top;
        self.nested.iter().map(|path| top.join(path.as_path()).join(".git"))
    }
}

/// The bounds of every command.
pub(crate) fn resources(memory_bytes: u64) -> Resources {
    Resources {
        memory_bytes: Some(memory_bytes),
        processes: Some(PROCESSES),
        open_files: Some(OPEN_FILES),
        ..Resources::default()
    }
}

/// Derives this computer's toolchains and opens the policy to them.
pub(crate) fn derive_toolchains(
    environment: &Environment<'_>,
    store: &Path,
    git_directory: Option<&Path>,
    policy: &mut Policy,
) -> Toolchains {
    let mut described = Described::read(System::current(), toolchains::account_home(), environment);
    described.sealed = vec![store.to_owned()];
    described.git_directory = git_directory.map(Path::to_owned);
    let derived = toolchains::derive(&described, &RealHost);
    policy.access = coder_boundary::Access::Toolchains;
    policy.network = Network::Host;
    // The common Git directory has its own view, which knows what in it may be written.
    let own = |path: &PathBuf| git_directory.is_none_or(|git| path != git);
    policy
        .reads
        .extend(derived.reads.iter().map(|entry| entry.path.clone()).filter(own));
    policy
        .environment
        .push((OsString::from("PATH"), derived.path_variable()));
    let variables = derived
        .environment
        .iter()
        .map(|(name, path)| (OsString::from(name), path.clone().into_os_string()));
    policy.environment.extend(variables);
    derived
}

/// Commits made by commands need an author, and the scratch home has no configuration to name one.
pub(crate) fn git_identity() -> Vec<(OsString, OsString)> {
    let name = "microcoder";
    let mail = "microcoder@localhost";
    [
        ("GIT_AUTHOR_NAME", name),
        ("GIT_AUTHOR_EMAIL", mail),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", mail),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_PAGER", "cat"),
    ]
    .map(|(name, value)| (OsString::from(name), OsString::from(value)))
    .into()
}

/// Where the repository lies: for a linked worktree with the branch directory of the run, if HEAD is on a branch of ours.
pub(crate) fn git_place(repository: &Repository) -> Place {
    match repository.kind {
        CheckoutKind::Checkout => Place::Checkout(repository.git_directory.clone()),
        CheckoutKind::Linked { .. } => Place::Linked(LinkedPlace {
            worktree: repository.top.clone(),
            common_directory: repository.common_directory.clone(),
            admin: repository.git_directory.clone(),
            branch_directory: branch_directory(repository),
        }),
    }
}

/// The directory of the branch that HEAD is on, if it is a run's own.
fn branch_directory(repository: &Repository) -> Option<PathBuf> {
    let (Head::Branch { reference, .. } | Head::Unborn { reference }) = &repository.head else {
        return None;
    };
    git_link::own_branch(
        std::str::from_utf8(reference.as_bytes()).ok()?,
        &repository.common_directory,
    )
}

/// Names that Git would obey and that were not there.
pub(crate) struct Absent(Vec<PathBuf>);

impl Absent {
    /// As it is before commands run.
    pub(crate) fn in_view(boundary: &Boundary) -> Self {
        let names = boundary.unguarded().iter();
        Self(names.filter(|path| path.symlink_metadata().is_err()).cloned().collect())
    }

    /// Those that are there now.
    pub(crate) fn appeared(self) -> Vec<PathBuf> {
        let mut names = self.0;
        names.retain(|path| path.symlink_metadata().is_ok());
        names
    }
}

/// The environment of a run in words for the model: what commands may touch and what they find.
pub(crate) fn describe(confine: &Confine<'_>, shell: &Path, network: &Network) -> String {
    let repository = confine.repository;
    let head = match &repository.head {
        Head::Branch { reference, commit } => format!("on branch {reference} at {commit}"),
        Head::Unborn { reference } => format!("on branch {reference} without a commit"),
        Head::Detached { commit } => format!("detached at {commit}"),
    };
    let files = match confine.workspace_access {
        WorkspaceAccess::Write => "You may change files below it; everything else is read-only or absent.",
        WorkspaceAccess::Read => "It is read-only: look, do not change anything.",
    };
    let network = match network {
        Network::None => {
            "There is no network: nothing can be downloaded, and only a loopback of your own exists.".to_owned()
        }
        Network::Host => "The network is open.".to_owned(),
        Network::Allow(list) => format!(
            "The network is what the proxy variables of the environment lead to: {list}. Any other host or port is \
             refused there, and nothing else leads out."
        ),
    };
    let git = match (&repository.kind, confine.workspace_access, branch_directory(repository)) {
        (_, WorkspaceAccess::Read, _) => "Git can be read.",
        _ if repository.reference_format != ReferenceFormat::Files => "Git can be read.",
        (CheckoutKind::Linked { .. }, WorkspaceAccess::Write, Some(_)) => {
            "Git works: status, diff, add, commit on this branch. Other branches, configuration and hooks are read-only; \
             that Git cannot create packed-refs.lock after a commit means nothing."
        }
        (CheckoutKind::Linked { .. } | CheckoutKind::Checkout, WorkspaceAccess::Write, _) => {
            "Git works: status, diff, add. Commits work on a detached HEAD only; branches, configuration and hooks are \
             read-only; that Git cannot create packed-refs.lock after a commit means nothing."
        }
    };
    format!(
        "Working directory: {top}, a Git checkout {head}. {files}\n\
         Each command is one script for {shell}, in a process tree of its own that ends with it; a command may take 300 seconds.\n\
         HOME and the directory for temporary files are private, and stay from command to command.\n\
         {network}\n{git}\nA denied path shows as a missing file or as \"Permission denied\" or \"Read-only file system\".",
        top = display_bytes(std::os::unix::ffi::OsStrExt::as_bytes(repository.top.as_os_str())),
        shell = shell.display(),
    )
}

#[cfg(test)]
#[path = "confine_tests.rs"]
mod tests;
