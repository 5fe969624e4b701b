//! The ground a boundary stands on: which layers are to be had on this machine. Everything, unless a trial found less.
//! Nothing here tries or enforces.

#[cfg(any(test, feature = "escape-tests"))]
use crate::Level;
use crate::layers::{Layer, LayerSet};

/// Which layers are to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ground {
    layers: LayerSet,
}

impl Default for Ground {
    /// Every layer.
    fn default() -> Self {
        Self { layers: LayerSet::ALL }
    }
}

impl Ground {
    /// Whether a layer is to be had.
    #[must_use]
    pub fn gives(&self, layer: Layer) -> bool {
        self.layers.contains(layer)
    }
}

/// How the escape corpus sees what each layer stops: it takes one away. No release can hold this.
#[cfg(any(test, feature = "escape-tests"))]
impl Ground {
    /// Every layer but these.
    #[must_use]
    pub fn without(layers: impl IntoIterator<Item = Layer>) -> Self {
        Self {
            layers: layers.into_iter().fold(LayerSet::ALL, LayerSet::less),
        }
    }

    /// As if the machine gave no more than this level.
    #[must_use]
    pub fn no_more_than(level: Level) -> Self {
        Self { layers: level.layers() }
    }

    /// This ground and some layers less.
    #[must_use]
    pub fn less(self, layers: impl IntoIterator<Item = Layer>) -> Self {
        Self {
            layers: layers.into_iter().fold(self.layers, LayerSet::less),
        }
    }
}

#[cfg(all(feature = "escape-tests", not(debug_assertions)))]
compile_error!("the feature `escape-tests` takes walls away and must not be in a release");
