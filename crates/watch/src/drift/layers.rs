//! Defines a set of layers of `check`.

use check::{LAYERS, LayerName};

/// Layers, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers(u32);

impl Layers {
    /// Every layer.
    #[must_use]
    pub fn all() -> Layers {
        LAYERS
            .iter()
            .fold(Layers::default(), |all, layer| Layers(all.0 | bit(layer.name)))
    }

    /// The layers of these names.
    #[must_use]
    pub fn named(names: &[LayerName]) -> Layers {
        names
            .iter()
            .fold(Layers::default(), |all, &name| Layers(all.0 | bit(name)))
    }

    /// The union.
    #[must_use]
    pub fn and(self, other: Layers) -> Layers {
        Layers(self.0 | other.0)
    }

    /// Whether the set has a layer.
    #[must_use]
    pub fn has(self, name: LayerName) -> bool {
        self.0 & bit(name) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

const fn bit(name: LayerName) -> u32 {
    1 << name as u32
}
