//! The ground a boundary stands on: which layers are to be had on this machine. Everything, unless a caller accepts less
//! and a trial found less; then as much as there is. Enforces nothing.

use crate::filter::{By, Profile};
use crate::layers::{Layer, LayerSet};
use crate::policy::{Network, Permission};
use crate::{Capabilities, Error, Finding, Level, probe};

/// Which layers are to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ground {
    layers: LayerSet,
    /// What a test took away, so that nothing stands in for it.
    taken: LayerSet,
}

impl Default for Ground {
    /// Every layer.
    fn default() -> Self {
        Self::of(LayerSet::ALL)
    }
}

impl Ground {
    fn of(layers: LayerSet) -> Self {
        Self {
            layers,
            taken: LayerSet::EMPTY,
        }
    }

    /// The best that is to be had, if that is at least `least`. With [`Level::Complete`] nothing is tried: a layer that is
    /// not there then refuses the command when it starts.
    ///
    /// # Errors
    /// [`Error::LevelTooLow`] with the first thing that is missing and what to do; what keeps a trial from being made.
    pub fn find(least: Level, network: &Network) -> Result<Self, Error> {
        if least == Level::Complete {
            return Ok(Self::default());
        }
        let capabilities = probe()?;
        let ground = Self::found(&capabilities);
        match ground.level(network) {
            Some(level) if level >= least => Ok(ground),
            level => Err(Error::LevelTooLow {
                least,
                level,
                gap: capabilities.first_gap().map(|gap| gap.to_string()).unwrap_or_default(),
            }),
        }
    }

    /// What a trial found, without what is of no use alone.
    #[must_use]
    pub fn found(capabilities: &Capabilities) -> Self {
        let available = |finding: &Finding| match finding {
            Finding::Available(layer) => Some(*layer),
            Finding::Missing(_) => None,
        };
        let layers: LayerSet = capabilities.findings.iter().filter_map(available).collect();
        Self::of(coherent(layers))
    }

    /// Whether a layer is to be had.
    #[must_use]
    pub fn gives(&self, layer: Layer) -> bool {
        self.layers.contains(layer)
    }

    /// The level it carries; `None` where not even system calls are filtered.
    #[must_use]
    pub fn level(&self, network: &Network) -> Option<Level> {
        Level::held(self.layers, network)
    }

    /// What the filter stands in for.
    pub(crate) fn profile(&self, network: &Network) -> Profile {
        let unless = |layer| {
            if self.gives(layer) || self.taken.contains(layer) {
                By::Namespace
            } else {
                By::Filter
            }
        };
        Profile {
            internet: match network {
                Network::None | Network::Allow(_) => unless(Layer::NetworkNamespace),
                Network::Host => By::Namespace,
            },
            // Without a root of its own a command finds the sockets of every service of the machine.
            unix_sockets: unless(Layer::AssembledRoot),
            ipc: unless(Layer::IpcNamespace),
            processes: unless(Layer::ProcessNamespace),
            debugger: Permission::Refused,
            nested_namespaces: Permission::Refused,
        }
    }
}

/// The root is assembled in a mount namespace with a `/proc` of its own processes; without it neither of the two is of
/// use, and a process namespace without its `/proc` breaks programs.
fn coherent(layers: LayerSet) -> LayerSet {
    const ROOT: [Layer; 3] = [Layer::MountNamespace, Layer::ProcessNamespace, Layer::AssembledRoot];
    if ROOT.iter().all(|layer| layers.contains(*layer)) {
        layers
    } else {
        ROOT.into_iter().fold(layers, LayerSet::less)
    }
}

/// How the escape corpus sees what each layer stops: it takes one away. No release can hold this.
#[cfg(any(test, feature = "escape-tests"))]
impl Ground {
    /// Every layer but these. Nothing stands in for them, as the filter does for a namespace that a machine lacks.
    #[must_use]
    pub fn without(layers: impl IntoIterator<Item = Layer>) -> Self {
        Self::default().less(layers)
    }

    /// As if the machine gave no more than this level.
    #[must_use]
    pub fn no_more_than(level: Level) -> Self {
        Self::of(level.layers())
    }

    /// This ground and some layers less.
    #[must_use]
    pub fn less(self, layers: impl IntoIterator<Item = Layer>) -> Self {
        layers.into_iter().fold(self, |ground, layer| Self {
            layers: ground.layers.less(layer),
            taken: ground.taken.with(layer),
        })
    }
}

#[cfg(all(feature = "escape-tests", not(debug_assertions)))]
compile_error!("the feature `escape-tests` takes walls away and must not be in a release");
