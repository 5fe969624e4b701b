//! The walls by name: what the children report as applied, and what to do when the kernel refuses one.
//! A set of layers travels from the children to the host as one number.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One wall around a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A user namespace of its own: the caller's own user and group, and no other.
    UserNamespace,
    /// A mount namespace of its own.
    MountNamespace,
    /// A process id namespace of its own, whose first process is ours.
    ProcessNamespace,
    /// System V IPC and POSIX message queues of its own.
    IpcNamespace,
    /// A host name of its own.
    HostNameNamespace,
    /// A network of its own, connected to nothing.
    NetworkNamespace,
    /// The loopback interface of that network is up. The only layer a command may do without.
    Loopback,
    /// A root assembled from what was granted; the host's own root is gone.
    AssembledRoot,
    /// No capability in any set, and none regained by user id 0 at exec.
    Capabilities,
    /// No program gains privileges at exec, set-user-id ones included.
    NoNewPrivileges,
    /// Landlock on files.
    Landlock,
    /// Landlock's scope on abstract unix sockets and signals.
    LandlockScope,
    /// The seccomp filter of system calls.
    SystemCalls,
    /// With full access: the checkout that a worktree was made from is read-only.
    SourceGuard,
}

impl Layer {
    /// Every layer, in the order in which they are applied.
    pub const ALL: [Self; 14] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::ProcessNamespace,
        Self::IpcNamespace,
        Self::HostNameNamespace,
        Self::NetworkNamespace,
        Self::Loopback,
        Self::AssembledRoot,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::LandlockScope,
        Self::SystemCalls,
        Self::SourceGuard,
    ];

    /// The name used in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::ProcessNamespace => "process_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::HostNameNamespace => "host_name_namespace",
            Self::NetworkNamespace => "network_namespace",
            Self::Loopback => "loopback",
            Self::AssembledRoot => "assembled_root",
            Self::Capabilities => "capabilities",
            Self::NoNewPrivileges => "no_new_privileges",
            Self::Landlock => "landlock",
            Self::LandlockScope => "landlock_scope",
            Self::SystemCalls => "system_calls",
            Self::SourceGuard => "source_guard",
        }
    }

    /// What to do, in one line, when the kernel does not give this layer. Never advises to weaken the kernel's own
    /// protection of the whole machine.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::UserNamespace => {
                "allow user namespaces for this program: raise `user.max_user_namespaces` above 0, or, where AppArmor \
                 restricts them, load a profile for this program with the rule `userns,`"
            }
            Self::MountNamespace | Self::ProcessNamespace | Self::IpcNamespace | Self::HostNameNamespace => {
                "raise the limits `user.max_{mnt,pid,ipc,uts}_namespaces`, or leave the container that forbids \
                 namespaces"
            }
            Self::NetworkNamespace => "raise `user.max_net_namespaces`, or leave the container that forbids namespaces",
            Self::Loopback => "nothing to do: commands run without a loopback interface",
            Self::AssembledRoot => {
                "let this program mount inside its user namespace: outside a container whose /proc is masked, and, \
                 where AppArmor restricts it, with a profile that holds the rule `userns,`; Linux 5.12 or later"
            }
            Self::Capabilities | Self::NoNewPrivileges => {
                "run outside the container whose seccomp profile forbids prctl and capset"
            }
            Self::Landlock => "boot Linux 5.13 or later with `landlock` in the `lsm=` list",
            Self::LandlockScope => "boot Linux 6.12 or later",
            Self::SystemCalls => "boot a kernel with CONFIG_SECCOMP_FILTER, outside a container that forbids seccomp",
            Self::SourceGuard => {
                "let this program mount inside a user namespace, as the boundary must, or use access `toolchains`"
            }
        }
    }

    const fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// A word that names no layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no layer `{word}`")]
pub struct UnknownLayer {
    word: String,
}

impl FromStr for Layer {
    type Err = UnknownLayer;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|layer| layer.name() == word);
        named.ok_or_else(|| UnknownLayer { word: word.to_owned() })
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The gateway to listed hosts: no wall but a hole in one, so that it is reported beside the layers.
const GATEWAY: u64 = 1 << 63;

/// Some of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerSet(u64);

impl LayerSet {
    /// No layer at all.
    pub const EMPTY: Self = Self(0);

    /// Every layer.
    pub const ALL: Self = Self((1 << Layer::ALL.len()) - 1);

    /// The set as the children report it. Bits that mean nothing here are kept.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The set as the children report it.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// This set and one layer more.
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | layer.bit())
    }

    /// This set and one layer less.
    #[must_use]
    pub const fn less(self, layer: Layer) -> Self {
        Self(self.0 & !layer.bit())
    }

    /// This set with the gateway to listed hosts.
    #[must_use]
    pub(crate) const fn with_gateway(self) -> Self {
        Self(self.0 | GATEWAY)
    }

    /// Whether the network namespace has a gateway to listed hosts.
    #[must_use]
    pub(crate) const fn has_gateway(self) -> bool {
        self.0 & GATEWAY != 0
    }

    /// Whether the layer is in the set.
    #[must_use]
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & layer.bit() != 0
    }

    /// The layers of an assembled boundary: every one but the guard of full access.
    pub(crate) fn of_a_boundary() -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(|layer| *layer != Layer::SourceGuard)
    }

    /// The layers of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Layer> {
        Layer::ALL.into_iter().filter(move |layer| self.contains(*layer))
    }
}

impl FromIterator<Layer> for LayerSet {
    fn from_iter<I: IntoIterator<Item = Layer>>(layers: I) -> Self {
        layers.into_iter().fold(Self::EMPTY, Self::with)
    }
}
