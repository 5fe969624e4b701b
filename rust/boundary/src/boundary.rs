//! The checked and prepared boundary, and the commands that run in it.

use crate::assembly::{self, Act};
use crate::bounds::{bounds, counted, limits};
use crate::caches::ShownCache;
use crate::command_environment::environment;
use crate::confinement::{Prepared, Scope, Seclusion, Single};
use crate::enforced::{Certain, Enforced, Quota};
use crate::exhausted::Exhausted;
use crate::filter::Profile;
use crate::group::{Leaf, Wanted};
use crate::guard::Guarded;
use crate::laid::{Laid, profile};
use crate::layers::{Layer, LayerSet};
use crate::policy::{Access, Network, Permission, Policy, Resources, Workspace};
use crate::quota::{self, Meter};
use crate::step::Step;
use crate::why::Roles;
use crate::{Error, Gateway, Ground, Outside, Private, Scratch, filter, git, network, paths};
use coder_process::{Command, Confinement, Limits, Unconfined};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What commands may touch, made ready once for any number of them. Ends, and removes its scratch, when it and every
/// command made from it are dropped.
#[derive(Clone)]
pub struct Boundary {
    /// Absent with full access.
    pub(crate) prepared: Option<Arc<Prepared>>,
    /// What holds the source checkout with full access, where there is one to hold.
    pub(crate) guard: Option<Arc<Guarded>>,
    planned: Enforced,
    certain: Certain,
    ground: Ground,
    environment: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    limits: Limits,
    unguarded: Vec<PathBuf>,
    unheld: Vec<PathBuf>,
    /// What a control group of each command counts.
    counted: Option<Wanted>,
    pub(crate) network: Network,
    /// For words about a place: what is sealed, and what each granted place was granted as.
    pub(crate) sealed: Vec<PathBuf>,
    pub(crate) roles: Roles,
    caches: Vec<ShownCache>,
}

/// A command's processes before it is known what it is granted, see [`Boundary::early`]. Dropped, they end.
#[derive(Debug)]
pub struct Early {
    started: coder_process::Early,
    beginning: Vec<Act>,
}

impl std::fmt::Debug for Boundary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment may be secrets.
        formatter
            .debug_struct("Boundary")
            .field("planned", &self.planned)
            .finish_non_exhaustive()
    }
}

impl Boundary {
    /// Checks a policy against the file system and itself, and makes everything ready that can be made ready before a
    /// command: paths, mounts to make, Landlock rules, the compiled filter. Starts nothing.
    ///
    /// # Errors
    /// What the policy asks for and cannot have, and [`Error::Layer`] when the kernel lacks Landlock. Namespaces that
    /// the kernel refuses show when a command starts, as a `coder_process::Error` that names the act; see
    /// [`explain`](crate::explain).
    pub fn prepare(policy: Policy, private: impl Into<Private>) -> Result<Self, Error> {
        let private = private.into();
        match policy.access {
            Access::Boundary | Access::Toolchains => Self::confined(policy, private),
            Access::Full => Self::full(policy),
        }
    }

    /// Starts what every command with this network and these resources gets, before it is known what it is granted: its
    /// namespaces take the kernel as long as preparing takes the host. For boundaries with [`Private::Memory`].
    ///
    /// # Errors
    /// [`Error::Early`] when no process can be made, [`Error::Filter`] on an unknown architecture.
    pub fn early(network: &Network, resources: &Resources) -> Result<Early, Error> {
        let namespaces = namespaces(network);
        let profile = Profile::default();
        let beginning = acts(
            assembly::beginning(resources.private_bytes(), Permission::Refused)?,
            namespaces,
        );
        let seclusion = Seclusion {
            namespaces,
            beginning: beginning.clone(),
            filter: filter::program(profile)?,
            ground: Ground::default(),
            profile,
        };
        let started = coder_process::Early::start(Arc::new(seclusion)).map_err(|source| Error::Early { source })?;
        Ok(Early { started, beginning })
    }

    /// What was started early, if it is how a command of this boundary begins; otherwise it ends. For
    /// `coder_process::run_early`.
    pub fn take(&self, early: Early) -> Option<coder_process::Early> {
        let prepared = self.prepared.as_ref()?;
        prepared.begins_with(&early.beginning).then_some(early.started)
    }

    fn confined(policy: Policy, private: Private) -> Result<Self, Error> {
        let ground = policy.ground;
        let mut grants = paths::grants(&policy)?;
        let (mut unguarded, mut covered) = (Vec::new(), Vec::new());
        if let Some(view) = &policy.git {
            let shown = git::shown(view, policy.workspace.as_ref(), &grants)?;
            grants.extend(shown.grants);
            (unguarded, covered) = (shown.unguarded, shown.covered);
        }
        let mut sealed = paths::sealed(&policy, &grants)?;
        sealed.append(&mut covered);
        let workspace = grants
            .iter()
            .find(|granted| granted.role == "workspace")
            .map(|granted| granted.path.clone());
        if let Some(scratch) = private.scratch()
            && let Some(granted) = grants
                .iter()
                .filter(|granted| granted.mode == crate::Mode::Write)
                .find(|granted| scratch.path().starts_with(&granted.path))
        {
            return Err(Error::ScratchInsideGrant {
                scratch: scratch.path().to_path_buf(),
                granted: granted.path.clone(),
            });
        }
        let grants = paths::ordered(grants);
        let profile = profile(&policy)?;
        let laid = if ground.gives(Layer::AssembledRoot) {
            Laid::assembled(&policy, &private, &grants, &sealed, profile)?
        } else {
            Laid::in_the_hosts_root(&policy, &private, &grants, &sealed, profile)?
        };
        let Laid {
            acts: assembled,
            files,
            visible,
            unheld,
            places,
            caches,
            abi,
        } = laid;
        let directory = match &policy.directory {
            None => workspace.unwrap_or_else(|| places.home.clone()),
            Some(directory) if places.hold_directory(directory, &private) => directory.clone(),
            Some(directory) => {
                let directory = paths::resolve("directory", directory)?;
                if !visible.iter().any(|tree| directory.starts_with(tree)) {
                    return Err(Error::DirectoryHidden { path: directory });
                }
                directory
            }
        };

        let namespaces = namespaces(&policy.network)
            .iter()
            .filter(|layer| ground.gives(*layer))
            .collect();
        let all = acts(assembled, namespaces);
        let scratch = match (&private, policy.resources.scratch_bytes) {
            (_, None) => Quota::None,
            (Private::Memory, Some(bytes)) => Quota::Memory(bytes),
            (Private::Directory(_), Some(bytes)) => Quota::Counted(bytes),
        };
        let beginning = match private {
            Private::Memory => acts(
                assembly::beginning(policy.resources.private_bytes(), policy.nested_namespaces)?,
                namespaces,
            ),
            Private::Directory(_) => Vec::new(),
        };
        let layers = LayerSet::of_a_boundary()
            .filter(|layer| ground.gives(*layer))
            .filter(|layer| files.scope() == Scope::Own || *layer != Layer::LandlockScope)
            .filter(|layer| {
                policy.network != Network::Host || !matches!(layer, Layer::NetworkNamespace | Layer::Loopback)
            })
            .collect::<LayerSet>();
        let prepared = Prepared {
            seclusion: Seclusion {
                namespaces,
                beginning,
                filter: filter::program(profile)?,
                ground,
                profile,
            },
            acts: all,
            kept: files.kept(),
            files,
            private,
        };
        let counted = counted(&policy.resources);
        let certain = Certain {
            access: policy.access,
            network: policy.network.clone(),
            abi,
            profile,
            bounds: bounds(&policy.resources, counted, scratch),
        };
        let (layers, mut variables) = match &policy.network {
            Network::Allow(list) => (layers.with_gateway(), network::variables(list)),
            Network::None | Network::Host => (layers, Vec::new()),
        };
        variables.extend(policy.environment);
        let roles = grants.iter().map(|granted| (granted.path.clone(), granted.role));
        Ok(Self {
            planned: Enforced::from_layers(&certain, layers),
            certain,
            ground,
            unheld,
            environment: environment(&places, variables),
            directory: Some(directory),
            limits: limits(&policy.resources, counted.map(|(wanted, _)| wanted)),
            counted: counted.map(|(wanted, _)| wanted),
            unguarded,
            roles: roles.collect(),
            network: policy.network,
            sealed,
            caches,
            prepared: Some(Arc::new(prepared)),
            guard: None,
        })
    }

    fn full(policy: Policy) -> Result<Self, Error> {
        let guard = Guarded::prepare(&policy)?;
        let layers = guard.as_ref().map_or(LayerSet::EMPTY, Guarded::layers);
        let mut environment = policy.environment;
        if let (Some(_), Some(parent)) = (&guard, ceiling(policy.workspace.as_ref())) {
            environment.push((OsString::from("GIT_CEILING_DIRECTORIES"), parent));
        }
        let directory = policy.directory.or(policy.workspace.map(|workspace| workspace.path));
        let directory = directory
            .map(|directory| paths::resolve("directory", &directory))
            .transpose()?;
        let certain = Certain {
            access: Access::Full,
            network: policy.network,
            abi: 0,
            profile: Profile::default(),
            bounds: bounds(&policy.resources, None, Quota::None),
        };
        Ok(Self {
            planned: Enforced::from_layers(&certain, layers),
            certain,
            ground: policy.ground,
            unheld: Vec::new(),
            environment,
            directory,
            limits: limits(&policy.resources, None),
            counted: None,
            unguarded: Vec::new(),
            network: Network::Host,
            sealed: Vec::new(),
            roles: Vec::new(),
            caches: Vec::new(),
            prepared: None,
            guard: guard.map(Arc::new),
        })
    }

    /// A command in this boundary: confined, with the boundary's environment, directory and limits. Without a
    /// [`gateway`](Self::gateway), listed hosts are out of its reach too.
    pub fn command(&self, program: impl Into<PathBuf>) -> Command {
        self.command_through(program, None)
    }

    /// The way out for one command: a gateway to the listed hosts, where the policy lists any. It serves from when a
    /// command [made with it](Self::command_through) starts until it is finished or dropped.
    ///
    /// # Errors
    /// [`Error::Gateway`] when there is no descriptor or thread for it, [`Error::Layer`] without a network of the command's
    /// own.
    pub fn gateway(&self, outside: Outside) -> Result<Option<Gateway>, Error> {
        let (Network::Allow(list), Some(prepared)) = (&self.network, &self.prepared) else {
            return Ok(None);
        };
        let layer = Layer::NetworkNamespace;
        if !prepared.seclusion.namespaces.contains(layer) {
            // Its listener would be everybody's.
            let source = io::ErrorKind::Unsupported.into();
            return Err(Error::Layer { layer, source });
        }
        Gateway::start(list.clone(), outside).map(Some)
    }

    /// A command with its own gateway. One gateway serves the first command that is started with it.
    pub fn command_through(&self, program: impl Into<PathBuf>, gateway: Option<&Gateway>) -> Command {
        self.command_of(program, gateway, [])
    }

    /// The same for a person whose own environment the command gets, as far as the boundary does not say otherwise.
    pub fn command_of(
        &self,
        program: impl Into<PathBuf>,
        gateway: Option<&Gateway>,
        person: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Command {
        let quota = self.quota().map(Arc::new);
        let group = self.counted.map(Leaf::create);
        let confinement: Arc<dyn Confinement> = match (&self.prepared, &self.guard) {
            (Some(prepared), _) if gateway.is_none() && group.is_none() && quota.is_none() => prepared.clone(),
            (Some(prepared), _) => {
                let gateway = gateway.map(Gateway::given);
                Arc::new(Single::new(prepared.clone(), gateway, group, quota.clone()))
            }
            (None, Some(guard)) => guard.clone(),
            (None, None) => Arc::new(Unconfined),
        };
        let command = Command::new(program).confinement(confinement);
        let command = match quota {
            Some(quota) => command.patrol(quota::EVERY, Arc::new(move || quota.look())),
            None => command,
        };
        let command = command
            .limits(self.limits)
            .variables(person)
            .variables(self.environment.iter().cloned());
        match &self.directory {
            Some(directory) => command.directory(directory),
            None => command,
        }
    }

    /// The count of the private directory's bytes, where they are bounded and no filesystem of their own bounds them.
    fn quota(&self) -> Option<Meter> {
        match self.certain.bounds.scratch {
            Quota::Counted(bytes) => self.scratch().map(|scratch| Meter::new(scratch, bytes)),
            Quota::Memory(_) | Quota::None => None,
        }
    }

    /// What of a command's bounds ran out, from the `exhausted` of its outcome.
    #[must_use]
    pub fn exhausted(&self, outcome_exhausted: u64) -> Exhausted {
        Exhausted::read(outcome_exhausted, &self.certain.bounds)
    }

    /// What every command will be held by, if the kernel gives all that is asked of it.
    #[must_use]
    pub fn planned(&self) -> &Enforced {
        &self.planned
    }

    /// What a command really was held by, from the `layers` of its outcome.
    #[must_use]
    pub fn enforced(&self, outcome_layers: u64) -> Enforced {
        Enforced::from_layers(&self.certain, LayerSet::from_bits(outcome_layers))
    }

    /// Which network commands see.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The least that a command must be held by for what its access mode promises on this ground.
    #[must_use]
    pub fn demand(&self) -> Enforced {
        Enforced::least_on(self.certain.access, &self.certain.network, self.ground)
    }

    /// The private directory behind the commands' home and `/tmp`; absent with full access and with
    /// [`Private::Memory`].
    #[must_use]
    pub fn scratch(&self) -> Option<&Scratch> {
        self.prepared.as_ref().and_then(|prepared| prepared.private.scratch())
    }

    /// Where commands start; the host's own current directory where full access names none.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The caches that commands find, and how each of them is shown.
    #[must_use]
    pub fn caches(&self) -> &[ShownCache] {
        &self.caches
    }

    /// With full access to a linked worktree: the trees that stay read-only, resolved.
    #[must_use]
    pub fn held(&self) -> &[PathBuf] {
        self.guard.as_ref().map_or(&[], |guard| guard.held())
    }

    /// Files that Git would obey, that do not exist, and that a command could therefore make. No kernel holds a name
    /// that is not there: look for them after a run.
    #[must_use]
    pub fn unguarded(&self) -> &[PathBuf] {
        &self.unguarded
    }

    /// Files and directories that Git would obey, and that nothing holds in place at this level: compare them before and
    /// after a run.
    #[must_use]
    pub fn unheld(&self) -> &[PathBuf] {
        &self.unheld
    }
}

fn namespaces(network: &Network) -> LayerSet {
    let always = [
        Layer::UserNamespace,
        Layer::MountNamespace,
        Layer::ProcessNamespace,
        Layer::IpcNamespace,
        Layer::HostNameNamespace,
    ];
    let own_network = match network {
        Network::None | Network::Allow(_) => Some(Layer::NetworkNamespace),
        Network::Host => None,
    };
    always.into_iter().chain(own_network).collect()
}

/// Git looks for a repository no further up than beside the worktree.
fn ceiling(workspace: Option<&Workspace>) -> Option<OsString> {
    let top = fs::canonicalize(&workspace?.path).ok()?;
    Some(top.parent()?.as_os_str().to_owned())
}

/// Puts the id maps before the assembly's acts, since mounting needs them.
fn acts(assembly: Vec<Act>, namespaces: LayerSet) -> Vec<Act> {
    let mut acts = id_maps(namespaces);
    acts.extend(assembly);
    acts
}

/// What a user namespace begins with: this user and group, and no other.
pub(crate) fn id_maps(namespaces: LayerSet) -> Vec<Act> {
    let mut acts = Vec::new();
    if namespaces.contains(Layer::UserNamespace) {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        // The kernel takes a group map from an ordinary user only after `setgroups` is given up.
        let maps = [
            (c"/proc/self/setgroups", "deny".to_owned()),
            (c"/proc/self/gid_map", format!("{group} {group} 1\n")),
            (c"/proc/self/uid_map", format!("{user} {user} 1\n")),
        ];
        acts.extend(maps.map(|(file, line)| Act {
            step: Step::Map {
                file,
                line: line.into_bytes(),
            },
            words: format!("write {}", file.to_str().unwrap_or_default()),
        }));
    }
    acts
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
