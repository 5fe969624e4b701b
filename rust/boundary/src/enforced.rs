//! What a boundary really holds, as a value: planned before a command, reported by the kernel after it, compared with
//! what is demanded, and written down. Nothing here enforces.

use crate::filter::{By, Profile};
use crate::layers::{Layer, LayerSet};
use crate::policy::{Access, Network, Permission};
use crate::{Ground, Level};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which files exist for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// The host's own root.
    Host,
    /// A root of what was granted.
    Assembled,
}

/// A namespace, or the lack of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// The host's.
    Host,
    /// Its own.
    Own,
}

/// Which network a command really has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The host's network.
    Host,
    /// Its own, with a gateway to listed hosts.
    Listed,
    /// Its own, with a loopback interface.
    Loopback,
    /// Its own, without any interface that is up.
    Nothing,
    /// The host's, but no socket of the internet families can be made.
    Refused,
}

/// Whose abstract unix sockets a command can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbstractSockets {
    /// The host's.
    Host,
    /// Its own, by Landlock's scope.
    Scoped,
    /// Its own, by the network namespace.
    Own,
    /// None: no unix socket can be made, by name or by path, but pairs of them.
    Refused,
}

/// Which processes a command can send signals to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signals {
    /// All of this user's.
    #[default]
    Host,
    /// Its own, by Landlock's scope.
    Scoped,
    /// Its own, by the process namespace.
    Own,
}

/// What counts the use of a whole tree of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Control groups, version 1.
    CgroupV1,
    /// Control groups, version 2.
    CgroupV2,
}

/// How the private home and `/tmp` are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// Not at all.
    #[default]
    None,
    /// A filesystem in memory of so many bytes: a write above it fails.
    Memory(u64),
    /// The host counts, and ends a command that is found above so many bytes.
    Counted(u64),
}

/// What a command may use up, and who counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    pub(crate) memory: Bound,
    pub(crate) processes: Bound,
    pub(crate) open_files: Bound,
    pub(crate) file_bytes: Bound,
    pub(crate) cpu_seconds: Bound,
    pub(crate) scratch: Quota,
    pub(crate) group: Option<Group>,
}

/// What of a boundary needs no report of the children: they carry it out or the command does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certain {
    pub(crate) access: Access,
    pub(crate) network: Network,
    /// Counts only where Landlock is in the report.
    pub(crate) abi: u32,
    /// Counts only where the filter is in the report.
    pub(crate) profile: Profile,
    pub(crate) bounds: Bounds,
}

/// Whether a power remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// As the host has it.
    Kept,
    /// Given up for good.
    Dropped,
}

/// Whether system calls are filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemCalls {
    /// Every call.
    Unfiltered,
    /// Without those that reach past the namespaces.
    Filtered,
}

/// Whether full access leaves the checkout alone that a worktree was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceCheckout {
    /// No guard: another wall holds it, or nothing does.
    #[default]
    Unguarded,
    /// The main working tree, the repository and its other worktrees are read-only.
    Guarded,
}

impl SourceCheckout {
    fn is_unguarded(&self) -> bool {
        *self == Self::Unguarded
    }
}

/// What a resource bound holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Nothing.
    #[default]
    None,
    /// Each process by itself.
    PerProcess(u64),
    /// All processes of the boundary together.
    Together(u64),
}

/// What each layer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforced {
    /// What was asked for.
    pub access: Access,
    /// How much of a boundary it is, in one word; absent with full access, and in records of earlier versions.
    #[serde(default)]
    pub level: Option<Level>,
    /// Which files exist.
    pub root: Root,
    /// User and group ids.
    pub users: Namespace,
    /// Mounts.
    pub mounts: Namespace,
    /// Process ids: without its own, a command could see and signal the host's processes.
    pub processes: Namespace,
    /// System V IPC and message queues.
    pub ipc: Namespace,
    /// Host name.
    pub host_name: Namespace,
    /// Network.
    pub network: Reach,
    /// Abstract unix sockets.
    pub abstract_sockets: AbstractSockets,
    /// The ABI of Landlock that restricts files; absent when it does not.
    pub landlock: Option<u32>,
    /// Capabilities.
    pub capabilities: Power,
    /// Privileges gained at exec.
    pub new_privileges: Power,
    /// System calls.
    pub system_calls: SystemCalls,
    /// With full access: the checkout that the worktree was made from.
    #[serde(default, skip_serializing_if = "SourceCheckout::is_unguarded")]
    pub source_checkout: SourceCheckout,
    /// Memory.
    pub memory: Bound,
    /// Number of processes.
    pub process_count: Bound,
    /// Signals.
    #[serde(default)]
    pub signals: Signals,
    /// `ptrace` and its like, within the boundary.
    #[serde(default)]
    pub debugger: Permission,
    /// User namespaces made by commands.
    #[serde(default)]
    pub nested_namespaces: Permission,
    /// Open descriptors.
    #[serde(default)]
    pub open_files: Bound,
    /// Bytes of one written file.
    #[serde(default)]
    pub file_bytes: Bound,
    /// Seconds of processor time.
    #[serde(default)]
    pub cpu_seconds: Bound,
    /// The private home and `/tmp`.
    #[serde(default)]
    pub scratch: Quota,
    /// What counts together where something is bounded together; the kernel's count of a user's processes when absent.
    #[serde(default)]
    pub group: Option<Group>,
}

/// One layer that holds less than demanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{layer} holds less than demanded: {}", layer.fix())]
pub struct Shortfall {
    /// Which.
    pub layer: Layer,
}

impl Enforced {
    /// Reads a report of the children.
    pub(crate) fn from_layers(certain: &Certain, layers: LayerSet) -> Self {
        let namespace = |layer| {
            if layers.contains(layer) {
                Namespace::Own
            } else {
                Namespace::Host
            }
        };
        let power = |layer| {
            if layers.contains(layer) {
                Power::Dropped
            } else {
                Power::Kept
            }
        };
        let filtered = layers.contains(Layer::SystemCalls);
        let profile = if filtered { certain.profile } else { Profile::default() };
        let own_network = layers.contains(Layer::NetworkNamespace);
        let scoped = layers.contains(Layer::LandlockScope);
        let bounds = certain.bounds;
        Self {
            access: certain.access,
            level: Level::held(layers, &certain.network),
            root: if layers.contains(Layer::AssembledRoot) {
                Root::Assembled
            } else {
                Root::Host
            },
            users: namespace(Layer::UserNamespace),
            mounts: namespace(Layer::MountNamespace),
            processes: namespace(Layer::ProcessNamespace),
            ipc: namespace(Layer::IpcNamespace),
            host_name: namespace(Layer::HostNameNamespace),
            network: match (own_network, layers.contains(Layer::Loopback), profile.internet) {
                (true, _, _) if layers.has_gateway() => Reach::Listed,
                (true, true, _) => Reach::Loopback,
                (true, false, _) => Reach::Nothing,
                (false, _, By::Filter) => Reach::Refused,
                (false, _, By::Namespace) => Reach::Host,
            },
            abstract_sockets: match (profile.unix_sockets, own_network, scoped) {
                (By::Filter, _, _) => AbstractSockets::Refused,
                (By::Namespace, true, _) => AbstractSockets::Own,
                (By::Namespace, false, true) => AbstractSockets::Scoped,
                (By::Namespace, false, false) => AbstractSockets::Host,
            },
            landlock: layers.contains(Layer::Landlock).then_some(certain.abi),
            capabilities: power(Layer::Capabilities),
            new_privileges: power(Layer::NoNewPrivileges),
            system_calls: if filtered {
                SystemCalls::Filtered
            } else {
                SystemCalls::Unfiltered
            },
            source_checkout: match layers.contains(Layer::SourceGuard) {
                true => SourceCheckout::Guarded,
                false => SourceCheckout::Unguarded,
            },
            memory: bounds.memory,
            process_count: bounds.processes,
            signals: match (layers.contains(Layer::ProcessNamespace), scoped) {
                (true, _) => Signals::Own,
                (false, true) => Signals::Scoped,
                (false, false) => Signals::Host,
            },
            debugger: profile.debugger,
            nested_namespaces: profile.nested_namespaces,
            open_files: bounds.open_files,
            file_bytes: bounds.file_bytes,
            cpu_seconds: bounds.cpu_seconds,
            scratch: bounds.scratch,
            group: bounds.group,
        }
    }

    /// The least that an access mode promises on any kernel: what a grant demands when it demands nothing more.
    #[must_use]
    pub fn least(access: Access, network: &Network) -> Self {
        Self::least_on(access, network, Ground::default())
    }

    /// The least that an access mode promises where only this much is to be had, and is accepted.
    #[must_use]
    pub fn least_on(access: Access, network: &Network, ground: Ground) -> Self {
        let layers = match access {
            Access::Boundary | Access::Toolchains => Layer::ALL
                .into_iter()
                .filter(|layer| ground.gives(*layer))
                .filter(|layer| match layer {
                    Layer::Loopback | Layer::SourceGuard => false,
                    // A network of its own has abstract sockets of its own, and a process namespace processes.
                    Layer::LandlockScope => *network == Network::Host || !ground.gives(Layer::ProcessNamespace),
                    Layer::NetworkNamespace => *network != Network::Host,
                    Layer::UserNamespace
                    | Layer::MountNamespace
                    | Layer::ProcessNamespace
                    | Layer::IpcNamespace
                    | Layer::HostNameNamespace
                    | Layer::AssembledRoot
                    | Layer::Capabilities
                    | Layer::NoNewPrivileges
                    | Layer::Landlock
                    | Layer::SystemCalls => true,
                })
                .collect::<LayerSet>(),
            Access::Full => LayerSet::EMPTY,
        };
        let layers = match network {
            Network::Allow(_) => layers.with_gateway(),
            Network::None | Network::Host => layers,
        };
        let certain = Certain {
            access,
            network: network.clone(),
            abi: 1,
            profile: ground.profile(network),
            bounds: Bounds::default(),
        };
        Self::from_layers(&certain, layers)
    }

    /// The same demand, and that the checkout is held that a worktree was made from.
    #[must_use]
    pub fn with_source_guard(self) -> Self {
        Self {
            source_checkout: SourceCheckout::Guarded,
            new_privileges: Power::Dropped,
            mounts: Namespace::Own,
            processes: Namespace::Own,
            ..self
        }
    }

    /// Compares with a demand, layer by layer; more than demanded is as good.
    ///
    /// # Errors
    /// The first layer that holds less.
    pub fn satisfies(&self, demand: &Self) -> Result<(), Shortfall> {
        let namespace = |wanted, got| wanted == Namespace::Host || got == Namespace::Own;
        let power = |wanted, got| wanted == Power::Kept || got == Power::Dropped;
        let held = [
            (Layer::UserNamespace, namespace(demand.users, self.users)),
            (Layer::MountNamespace, namespace(demand.mounts, self.mounts)),
            (Layer::ProcessNamespace, namespace(demand.processes, self.processes)),
            (Layer::IpcNamespace, namespace(demand.ipc, self.ipc)),
            (Layer::HostNameNamespace, namespace(demand.host_name, self.host_name)),
            (
                Layer::NetworkNamespace,
                match demand.network {
                    Reach::Host => true,
                    Reach::Listed => self.network != Reach::Host,
                    Reach::Loopback | Reach::Nothing => matches!(self.network, Reach::Loopback | Reach::Nothing),
                    Reach::Refused => !matches!(self.network, Reach::Host | Reach::Listed),
                },
            ),
            (
                Layer::AssembledRoot,
                demand.root == Root::Host || self.root == Root::Assembled,
            ),
            (Layer::Capabilities, power(demand.capabilities, self.capabilities)),
            (
                Layer::NoNewPrivileges,
                power(demand.new_privileges, self.new_privileges),
            ),
            (
                Layer::Landlock,
                self.landlock.unwrap_or(0) >= demand.landlock.unwrap_or(0),
            ),
            (
                Layer::LandlockScope,
                demand.abstract_sockets == AbstractSockets::Host || self.abstract_sockets != AbstractSockets::Host,
            ),
            (
                Layer::LandlockScope,
                demand.signals == Signals::Host || self.signals != Signals::Host,
            ),
            (
                Layer::SystemCalls,
                demand.system_calls == SystemCalls::Unfiltered || self.system_calls == SystemCalls::Filtered,
            ),
            (
                Layer::SourceGuard,
                demand.source_checkout == SourceCheckout::Unguarded || self.source_checkout == SourceCheckout::Guarded,
            ),
        ];
        match held.into_iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((layer, _)) => Err(Shortfall { layer }),
        }
    }
}

impl fmt::Display for Enforced {
    /// One short line for people.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(level) = self.level.filter(|level| *level != Level::Complete) {
            write!(formatter, "level {level}, ")?;
        }
        match (self.root, self.landlock) {
            (Root::Host, Some(_)) => formatter.write_str("files: granted only, in the host's root")?,
            (Root::Host, None) => formatter.write_str(match self.source_checkout {
                SourceCheckout::Unguarded => "files: all of this user's",
                SourceCheckout::Guarded => "files: all of this user's, the source checkout read-only",
            })?,
            (Root::Assembled, _) => formatter.write_str("files: granted only")?,
        }
        match self.landlock {
            Some(abi) => write!(formatter, " (Landlock {abi})")?,
            None => formatter.write_str(" (no Landlock)")?,
        }
        formatter.write_str(match self.network {
            Reach::Host => ", network: the host's",
            Reach::Listed => ", network: listed hosts only",
            Reach::Loopback => ", network: none but its own loopback",
            Reach::Nothing => ", network: none",
            Reach::Refused => ", network: none, not even a loopback",
        })?;
        formatter.write_str(match self.processes {
            Namespace::Own => ", processes: its own",
            Namespace::Host => ", processes: the host's",
        })?;
        formatter.write_str(match self.capabilities {
            Power::Dropped => ", capabilities: none",
            Power::Kept => ", capabilities: this user's",
        })?;
        formatter.write_str(match self.system_calls {
            SystemCalls::Filtered => ", system calls: filtered",
            SystemCalls::Unfiltered => ", system calls: all",
        })?;
        let lacks = self.lacks();
        if !lacks.is_empty() {
            write!(formatter, "; lacking: {}", lacks.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "enforced_tests.rs"]
mod tests;
