//! Where this process stands while it watches a program: not on the CPUs that are asked about.

use machine::CpuSet;
use root::Root;

/// The CPUs where this process may run; nothing where `/proc` does not tell.
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
