//! Provides an explanation's facts about the current machine: its CPUs, its interrupts, its threads.

use machine::{CpuSet, Interrupt};

/// Facts about the current machine.
pub trait Surroundings {
    /// A numbered interrupt; `None` if there is none.
    fn interrupt(&self, irq: u32) -> Option<Interrupt>;
    /// The machine's possible and online CPUs. `None` if unknown.
    fn cpus(&self) -> Option<(CpuSet, CpuSet)>;
    /// Whether a kernel thread of this name runs; `None` if unknown.
    fn has_thread(&self, comm: &str) -> Option<bool>;
    /// Whether the kernel is known not to support `isolcpus=managed_irq`.
    fn lacks_managed_irq(&self) -> bool;
}

/// A machine for tests.
#[cfg(test)]
#[derive(Default)]
pub(super) struct ExampleMachine {
    pub interrupt: Option<Interrupt>,
    pub cpus: Option<(CpuSet, CpuSet)>,
    pub threads: Option<Vec<&'static str>>,
    pub lacks_managed_irq: bool,
}

#[cfg(test)]
impl Surroundings for ExampleMachine {
    fn interrupt(&self, irq: u32) -> Option<Interrupt> {
        self.interrupt.clone().filter(|one| one.irq == irq)
    }
    fn cpus(&self) -> Option<(CpuSet, CpuSet)> {
        self.cpus.clone()
    }
    fn has_thread(&self, comm: &str) -> Option<bool> {
        self.threads.as_ref().map(|threads| threads.contains(&comm))
    }
    fn lacks_managed_irq(&self) -> bool {
        self.lacks_managed_irq
    }
}
