//! Moves the collector off the measured CPUs, and restores its affinity.

use crate::os;
use machine::CpuSet;

/// Restores the calling thread's affinity when dropped.
pub(crate) struct AffinityGuard {
    former: Option<CpuSet>,
}

/// Moves the calling thread off `measured` if it may run anywhere else. A thread that is not on these CPUs
/// is not changed.
pub(crate) fn leave_measured(measured: &CpuSet) -> AffinityGuard {
    let Ok(allowed) = os::allowed() else {
        return AffinityGuard { former: None };
    };
    let rest = allowed.minus(measured);
    if rest.is_empty() || rest == allowed || os::pin(&rest).is_err() {
        return AffinityGuard { former: None };
    }
    AffinityGuard { former: Some(allowed) }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        if let Some(former) = &self.former {
            // The CPUs may have been removed from our cpuset since then; in that case the kernel has chosen others.
            let _ = os::pin(former);
        }
    }
}

/// Pins the calling thread to `cpus` until the value is dropped.
pub(crate) fn step_onto(cpus: &CpuSet) -> Result<AffinityGuard, os::Errno> {
    let former = os::allowed()?;
    os::pin(cpus)?;
    Ok(AffinityGuard { former: Some(former) })
}
