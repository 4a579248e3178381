//! Interrupts that have a number: names, affinities, counts. `/proc/interrupts`, `/proc/irq/N/*`.

use crate::CpuSet;

/// One numbered interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub irq: u32,
    /// Names of its actions, joined by `,`; empty when nobody has requested it.
    pub name: String,
    /// Chip and trigger as printed (`PCI-MSIX-0000:00:02.0   1-edge`).
    pub chip: String,
    /// `smp_affinity_list`: what was asked for.
    pub affinity: Option<CpuSet>,
    /// `effective_affinity_list`: where it fires.
    pub effective: Option<CpuSet>,
    /// Whether the kernel manages the mask itself and refuses ours; `None` is unknown without trying.
    pub managed: Option<bool>,
    /// Counts since boot of the CPUs that are not zero, ascending.
    pub counts: Vec<(u32, u64)>,
}
