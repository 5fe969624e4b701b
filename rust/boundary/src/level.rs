//! How much of a boundary is to be had, in one word: the least that a caller accepts is one of these, and so is what a
//! command was held by. What each gives and lacks is in `docs/boundary.md`.

use crate::layers::{Layer, LayerSet};
use crate::policy::Network;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A level, from the least to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A filter of system calls, no capability, no new privileges. Files and processes are those of the user.
    SystemCalls,
    /// The same and Landlock: the granted paths only, in the host's own root and among its processes.
    Landlock,
    /// Namespaces and an assembled root, with a wall behind them missing.
    Namespaces,
    /// Every wall.
    #[default]
    Complete,
}

impl Level {
    /// Every level, from the least.
    pub const ALL: [Self; 4] = [Self::SystemCalls, Self::Landlock, Self::Namespaces, Self::Complete];

    /// The name used in records and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SystemCalls => "system_calls",
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Complete => "complete",
        }
    }

    /// What a command was held by, in one word: nothing below the filter, the capabilities and the privileges is a level.
    pub(crate) fn held(layers: LayerSet, network: &Network) -> Option<Self> {
        let all = |wanted: &[Layer]| wanted.iter().all(|layer| layers.contains(*layer));
        let behind = match network {
            Network::None | Network::Allow(_) => Layer::NetworkNamespace,
            // Abstract sockets belong to the network, which is then the host's.
            Network::Host => Layer::LandlockScope,
        };
        if !all(&[Layer::SystemCalls, Layer::Capabilities, Layer::NoNewPrivileges]) {
            None
        } else if all(&[Layer::MountNamespace, Layer::ProcessNamespace, Layer::AssembledRoot]) {
            let rest = [
                Layer::UserNamespace,
                Layer::IpcNamespace,
                Layer::HostNameNamespace,
                Layer::Landlock,
                behind,
            ];
            Some(if all(&rest) { Self::Complete } else { Self::Namespaces })
        } else if all(&[Layer::Landlock]) {
            Some(Self::Landlock)
        } else {
            Some(Self::SystemCalls)
        }
    }

    /// The layers that stand for a level where the rest was taken away.
    #[cfg(any(test, feature = "escape-tests"))]
    pub(crate) fn layers(self) -> LayerSet {
        const ROOT: [Layer; 8] = [
            Layer::UserNamespace,
            Layer::MountNamespace,
            Layer::ProcessNamespace,
            Layer::IpcNamespace,
            Layer::HostNameNamespace,
            Layer::NetworkNamespace,
            Layer::Loopback,
            Layer::AssembledRoot,
        ];
        const LANDLOCK: [Layer; 2] = [Layer::Landlock, Layer::LandlockScope];
        let without = |layers: &[Layer]| layers.iter().copied().fold(LayerSet::ALL, LayerSet::less);
        match self {
            Self::Complete => LayerSet::ALL,
            Self::Namespaces => without(&LANDLOCK),
            Self::Landlock => without(&ROOT),
            Self::SystemCalls => LANDLOCK.into_iter().fold(without(&ROOT), LayerSet::less),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no level `{word}`: use system_calls, landlock, namespaces or complete")]
pub struct UnknownLevel {
    word: String,
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|level| level.name() == word);
        named.ok_or_else(|| UnknownLevel { word: word.to_owned() })
    }
}
