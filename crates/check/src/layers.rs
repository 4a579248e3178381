//! Lists the layers: one file each, one line each in [`LAYERS`].

mod boot_line;
mod effects;
mod interrupts;
mod knobs;
mod neighbours;
mod partition;
mod tasks;

use crate::{Case, CheckFinding, Evidence};
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
        LAYERS
            .iter()
            .map(|layer| layer.name)
            .find(|name| name.as_str() == text)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One layer of isolation.
pub struct Layer {
    /// Its name.
    pub name: LayerName,
    /// What it compares.
    pub what: &'static str,
    /// Adds its findings.
    pub look: fn(&Evidence, &Case, &mut Vec<CheckFinding>),
}

/// Every layer, from the one that others depend on to the effects of all of them.
pub const LAYERS: &[Layer] = &[
    boot_line::LAYER,
    partition::LAYER,
    tasks::LAYER,
    interrupts::LAYER,
    knobs::LAYER,
    neighbours::LAYER,
    effects::LAYER,
];
