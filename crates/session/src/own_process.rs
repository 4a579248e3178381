//! Keeps this process off the CPUs that it observes, and measures its cost.

use machine::CpuSet;
use root::Root;
use std::time::Duration;

/// The CPUs where this process may run; empty if `/proc` does not show them.
#[must_use]
pub fn allowed(root: &Root) -> CpuSet {
    let own = machine::tasks::read_one(root, std::process::id());
    own.and_then(|task| task.allowed).unwrap_or_default()
}

/// Moves this process off these CPUs if there are others. It exits afterwards, so the mask is never restored.
pub fn leave_cpus(root: &Root, cpus: &CpuSet) {
    let rest = allowed(root).minus(cpus);
    if !rest.is_empty() {
        // If the kernel refuses, we stay and show up in the observation.
        let _ = root::sched::set_affinity(0, &rest.words());
    }
}

/// The CPU time of this process. Time spent waiting for a CPU is not a cost.
#[must_use]
pub fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}
