//! Lists the layers: one file each, one line each in [`LAYERS`].

mod boot_line;
mod effects;
mod interrupts;
mod knobs;
mod neighbours;
mod partition;
mod tasks;

use crate::{CheckCase, CheckEvidence, CheckFinding, LayerName};

/// One layer of isolation.
pub struct IsolationLayer {
    /// Its name.
    pub name: LayerName,
    /// What it compares.
    pub what: &'static str,
    /// Adds its findings.
    pub judge: fn(&CheckEvidence, &CheckCase, &mut Vec<CheckFinding>),
}

/// Every layer, from the one that others depend on to the effects of all of them.
pub const LAYERS: &[IsolationLayer] = &[
    boot_line::LAYER,
    partition::LAYER,
    tasks::LAYER,
    interrupts::LAYER,
    knobs::LAYER,
    neighbours::LAYER,
    effects::LAYER,
];
