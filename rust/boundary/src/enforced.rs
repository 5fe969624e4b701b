//! What a boundary really holds, as a value: planned before a command, reported by the kernel after it, compared with
//! what is demanded, and written down. Nothing here enforces.

use crate::layers::{Layer, LayerSet};
use crate::policy::{Access, Network};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Nothing.
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
}

/// One layer that holds less than demanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{layer} holds less than demanded: {}", layer.fix())]
pub struct Shortfall {
    /// Which.
    pub layer: Layer,
}

impl Enforced {
    /// Reads a report of the children. `abi` counts only where Landlock is in the report.
    pub(crate) fn from_layers(access: Access, layers: LayerSet, abi: u32, bounds: (Bound, Bound)) -> Self {
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
        let own_network = layers.contains(Layer::NetworkNamespace);
        Self {
            access,
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
            network: match (own_network, layers.contains(Layer::Loopback)) {
                (true, _) if layers.has_gateway() => Reach::Listed,
                (true, true) => Reach::Loopback,
                (true, false) => Reach::Nothing,
                (false, _) => Reach::Host,
            },
            abstract_sockets: match (own_network, layers.contains(Layer::LandlockScope)) {
                (true, _) => AbstractSockets::Own,
                (false, true) => AbstractSockets::Scoped,
                (false, false) => AbstractSockets::Host,
            },
            landlock: layers.contains(Layer::Landlock).then_some(abi),
            capabilities: power(Layer::Capabilities),
            new_privileges: power(Layer::NoNewPrivileges),
            system_calls: match layers.contains(Layer::SystemCalls) {
                true => SystemCalls::Filtered,
                false => SystemCalls::Unfiltered,
            },
            source_checkout: match layers.contains(Layer::SourceGuard) {
                true => SourceCheckout::Guarded,
                false => SourceCheckout::Unguarded,
            },
            memory: bounds.0,
            process_count: bounds.1,
        }
    }

    /// The least that an access mode promises on any kernel: what a grant demands when it demands nothing more.
    #[must_use]
    pub fn least(access: Access, network: &Network) -> Self {
        let layers = match access {
            Access::Boundary | Access::Toolchains => LayerSet::from_iter(
                LayerSet::of_a_boundary()
                    .filter(|layer| !matches!(layer, Layer::Loopback | Layer::LandlockScope))
                    .filter(|layer| *network != Network::Host || *layer != Layer::NetworkNamespace),
            ),
            Access::Full => LayerSet::EMPTY,
        };
        let layers = match network {
            Network::Allow(_) => layers.with_gateway(),
            Network::None | Network::Host => layers,
        };
        Self::from_layers(access, layers, 1, (Bound::None, Bound::None))
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
        match self.root {
            Root::Host => formatter.write_str(match self.source_checkout {
                SourceCheckout::Unguarded => "files: all of this user's",
                SourceCheckout::Guarded => "files: all of this user's, the source checkout read-only",
            })?,
            Root::Assembled => formatter.write_str("files: granted only")?,
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
        })
    }
}

#[cfg(test)]
#[path = "enforced_tests.rs"]
mod tests;
