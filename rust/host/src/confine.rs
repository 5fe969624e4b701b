//! From a grant's access mode and a repository to the boundary its commands run in. Only decides the policy; checking
//! and enforcing it is the boundary's.

use crate::command_environment::CommandEnvironment;
use crate::configuration::Access;
use crate::git_link::Place;
use crate::grant::WorkspaceAccess;
use crate::login_environment::{Asked, Person};
use crate::quarantine::{Held, Root};
use crate::sweep::ScratchPlace;
use crate::{Error, git_link};
use coder_boundary::toolchains::{self, Described, RealHost, System, Toolchains};
use coder_boundary::{
    Boundary, Cache, Enforced, Ground, Layer, Level, Mode, Network, Policy, Private, Resources, Scratch, Workspace,
};
use coder_digest::{BytePath, display_bytes};
use coder_workspace::{CheckoutKind, Head, LinkedPlace, ReferenceFormat, Repository};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    pub(crate) resources: Resources,
    /// The least that is accepted.
    pub(crate) require: Level,
    pub(crate) environment: &'a Environment<'a>,
    /// Variables that hold a credential of the host's own.
    pub(crate) credentials: Vec<String>,
}

/// The boundary with what was derived for it.
pub(crate) struct Confined {
    pub(crate) boundary: Boundary,
    pub(crate) toolchains: Option<Toolchains>,
    pub(crate) network: Network,
    /// The person's environment, with full access.
    pub(crate) person: Option<Asked>,
    /// What Git changes, where the run may change anything.
    pub(crate) quarantine: Option<Held>,
    /// After the boundary and the quarantine, which lie in it: fields go in this order.
    pub(crate) place: ScratchPlace,
}

impl Confine<'_> {
    /// Prepares the boundary; its private scratch is made in `place`.
    pub(crate) fn prepare(&self, place: ScratchPlace) -> Result<Confined, Error> {
        let git = git_place(self.repository);
        let root = match self.access {
            Access::Boundary | Access::Toolchains => Root::Assembled,
            Access::Full => Root::Host,
        };
        let private = match root {
            Root::Assembled => Scratch::create(place.path())?.into(),
            // Home and `/tmp` are the person's own.
            Root::Host => Private::Memory,
        };
        let usual = usual_network(self.access);
        let ground = match self.access {
            Access::Boundary | Access::Toolchains => Ground::find(self.require, self.network.unwrap_or(&usual))?,
            Access::Full => Ground::default(),
        };
        let quarantine = match self.workspace_access {
            // Without a root of its own nothing can be shown in place of the repository: there Git only reads.
            WorkspaceAccess::Write if ground.gives(Layer::AssembledRoot) => {
                Held::for_run(place.path(), &git, root, ground)?
            }
            WorkspaceAccess::Write | WorkspaceAccess::Read => None,
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
            resources: self.resources,
            ground,
            ..Policy::default()
        };
        let (mut toolchains, mut person) = (None, None);
        match self.access {
            Access::Boundary => policy.environment = git_identity(),
            Access::Toolchains => {
                policy.environment = git_identity();
                let git = Some(self.repository.common_directory.as_path());
                let sealed = vec![self.store.to_owned()];
                toolchains = Some(derive_toolchains(self.environment, sealed, git, &mut policy));
            }
            Access::Full => {
                open_wide(&mut policy);
                person = Some(Asked::begin(Person::of(self.environment, self.credentials.clone()))?);
            }
        }
        if let Some(network) = self.network {
            policy.network = network.clone();
        }
        let network = policy.network.clone();
        Ok(Confined {
            boundary: Boundary::prepare(policy, private)?,
            toolchains,
            network,
            person,
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

/// The network of an access mode where nothing else is asked for.
pub(crate) fn usual_network(access: Access) -> Network {
    match access {
        Access::Boundary => Network::None,
        Access::Toolchains | Access::Full => Network::Host,
    }
}

impl Confined {
    /// The least that commands must be held by.
    pub(crate) fn demand(&self) -> Enforced {
        demand(&self.boundary)
    }

    /// The record of where the commands' environment comes from, as far as it is known at admission.
    pub(crate) fn command_environment(&self) -> Option<CommandEnvironment> {
        self.toolchains.as_ref().map(CommandEnvironment::of_toolchains)
    }
}

/// The least that an access mode promises; with a checkout to hold, that it is held.
pub(crate) fn demand(boundary: &Boundary) -> Enforced {
    let least = boundary.demand();
    match boundary.held().is_empty() {
        true => least,
        false => least.with_source_guard(),
    }
}

/// The record of derived toolchains, with how each cache is really shown.
pub(crate) fn toolchains_record(derived: &Toolchains, boundary: &Boundary) -> Value {
    let mut record = json!(derived);
    let caches = boundary.caches().iter().map(|shown| {
        json!({
            "path": BytePath::from(shown.path.as_path()),
            "place": BytePath::from(shown.place.as_path()),
            "method": shown.method,
        })
    });
    record["caches"] = caches.collect();
    record
}

/// Opens the policy to all that is this user's. What Git asks a person for, nobody would answer.
pub(crate) fn open_wide(policy: &mut Policy) {
    policy.access = coder_boundary::Access::Full;
    policy.network = Network::Host;
    policy.environment.extend(git_manners());
}

/// Derives this computer's toolchains and opens the policy to them.
pub(crate) fn derive_toolchains(
    environment: &Environment<'_>,
    sealed: Vec<PathBuf>,
    git_directory: Option<&Path>,
    policy: &mut Policy,
) -> Toolchains {
    let account_home = coder_boundary::account().map(|account| account.home);
    let mut described = Described::read(System::current(), account_home, environment);
    described.sealed = sealed;
    described.git_directory = git_directory.map(Path::to_owned);
    let derived = toolchains::derive(&described, &RealHost);
    policy.access = coder_boundary::Access::Toolchains;
    policy.network = Network::Host;
    // The common Git directory has its own view, which knows what in it may be written.
    let own = |path: &PathBuf| git_directory.is_none_or(|git| path != git);
    policy
        .reads
        .extend(derived.reads.iter().map(|entry| entry.path.clone()).filter(own));
    policy.caches = derived
        .caches
        .iter()
        .map(|cache| Cache {
            path: cache.path.clone(),
            place: cache.place.clone(),
            linked_depth: cache.linked_depth,
        })
        .collect();
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
    ]
    .map(|(name, value)| (OsString::from(name), OsString::from(value)))
    .into_iter()
    .chain(git_manners())
    .collect()
}

/// A Git that waits for nobody.
fn git_manners() -> [(OsString, OsString); 2] {
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_PAGER", "cat")]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
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

/// The environment of a run in words for the model: what commands may touch and what they find.
pub(crate) fn describe(confine: &Confine<'_>, shell: &Path, network: &Network) -> String {
    let repository = confine.repository;
    let head = match &repository.head {
        Head::Branch { reference, commit } => format!("on branch {reference} at {commit}"),
        Head::Unborn { reference } => format!("on branch {reference} without a commit"),
        Head::Detached { commit } => format!("detached at {commit}"),
    };
    let files = match (confine.access, confine.workspace_access) {
        (Access::Full, WorkspaceAccess::Write) => {
            "You may change it, and whatever else this user may change, but not the checkout it was made from nor that \
             repository's other worktrees: those are read-only."
        }
        (_, WorkspaceAccess::Write) => "You may change files below it; everything else is read-only or absent.",
        (_, WorkspaceAccess::Read) => "It is read-only: look, do not change anything.",
    };
    let home = match confine.access {
        Access::Boundary | Access::Toolchains => {
            "HOME and the directory for temporary files are private, and stay from command to command."
        }
        Access::Full => "HOME and the environment are the person's own, as their login shell makes it.",
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
         {home}\n\
         {network}\n{git}\nA denied path shows as a missing file or as \"Permission denied\" or \"Read-only file system\".",
        top = display_bytes(std::os::unix::ffi::OsStrExt::as_bytes(repository.top.as_os_str())),
        shell = shell.display(),
    )
}

#[cfg(test)]
#[path = "confine_tests.rs"]
mod tests;
