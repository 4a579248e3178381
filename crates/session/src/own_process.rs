//! This process while it watches others: it leaves the CPUs that it watches, and counts what it costs.

use machine::CpuSet;
use root::Root;
use std::time::Duration;

/// The CPUs where this process may run; nothing where `/proc` does not tell.
#[must_use]
pub fn allowed(root: &Root) -> CpuSet {
    let own = machine::tasks::read_one(root, std::process::id());
    own.and_then(|task| task.allowed).unwrap_or_default()
}

/// Leaves these CPUs where there are others. This process ends afterwards, so there is no way back.
pub fn step_aside(root: &Root, asked: &CpuSet) {
    let rest = allowed(root).minus(asked);
    if !rest.is_empty() {
        // Where the kernel refuses, we stay and are seen there.
        let _ = root::sched::set_affinity(0, rest.words());
    }
}

/// The CPU time that this process has had. Time that it waited for a CPU is not a cost of its own.
#[must_use]
pub fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}
