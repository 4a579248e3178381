//! Defines a set of layers of `check`.

use check::LAYERS;

/// Layers, by their index in [`check::LAYERS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers(u32);

impl Layers {
    /// Every layer.
    #[must_use]
    pub fn all() -> Layers {
        LAYERS
            .iter()
            .enumerate()
            .fold(Layers::default(), |all, (place, _)| Layers(all.0 | 1 << place))
    }

    /// The layers of these names; an unknown name adds nothing.
    #[must_use]
    pub fn named(names: &[&str]) -> Layers {
        let wanted = LAYERS
            .iter()
            .enumerate()
            .filter(|(_, layer)| names.contains(&layer.name));
        wanted.fold(Layers::default(), |all, (place, _)| Layers(all.0 | 1 << place))
    }

    /// The union.
    #[must_use]
    pub fn and(self, other: Layers) -> Layers {
        Layers(self.0 | other.0)
    }

    /// Whether the set has a layer.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        let place = LAYERS.iter().position(|layer| layer.name == name);
        place.is_some_and(|place| self.0 & (1 << place) != 0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
