//! Names the layers. A name is a type, so that a misspelled one cannot select nothing.

use std::fmt;

/// The name of a layer, as findings, JUnit test cases and the drift log show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerName {
    /// The parameters of the running boot line.
    BootLine,
    /// The cpuset that owns the CPUs.
    Partition,
    /// Threads that may run on the CPUs.
    Tasks,
    /// Interrupts by their affinities.
    Interrupts,
    /// Files that the profile sets.
    Knobs,
    /// Other programs that set the same.
    Neighbours,
    /// What arrived on the CPUs.
    Effects,
}

impl LayerName {
    /// Every name.
    pub const ALL: [LayerName; 7] = [
        LayerName::BootLine,
        LayerName::Partition,
        LayerName::Tasks,
        LayerName::Interrupts,
        LayerName::Knobs,
        LayerName::Neighbours,
        LayerName::Effects,
    ];

    /// The name as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            LayerName::BootLine => "boot line",
            LayerName::Partition => "partition",
            LayerName::Tasks => "tasks",
            LayerName::Interrupts => "interrupts",
            LayerName::Knobs => "knobs",
            LayerName::Neighbours => "neighbours",
            LayerName::Effects => "effects",
        }
    }

    /// The layer of this name; `None` if this version has none.
    #[must_use]
    pub fn parse(text: &str) -> Option<LayerName> {
        LayerName::ALL.into_iter().find(|name| name.as_str() == text)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::LayerName;
    use crate::LAYERS;

    #[test]
    fn each_name_is_of_one_layer_and_read_back() {
        let names: Vec<LayerName> = LAYERS.iter().map(|layer| layer.name).collect();
        assert_eq!(names, LayerName::ALL);
        for name in names {
            assert_eq!(LayerName::parse(name.as_str()), Some(name));
        }
        assert_eq!(LayerName::parse("of another version"), None);
    }
}
