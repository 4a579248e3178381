//! `/proc/stat` (time taken by the hypervisor) and `/proc/schedstat` (calls of `schedule()`), per CPU.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of one CPU in `USER_HZ` ticks (`fs/proc/stat.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Time that the hypervisor took; `None` before the field existed.
    pub steal: Option<u64>,
    /// Time spent running guests.
    pub guest: Option<u64>,
}

/// The lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`.
#[must_use]
pub fn parse_stat(text: &str) -> BTreeMap<u32, CpuTimes> {
    text.lines()
        .filter_map(|line| {
            let (cpu, rest) = cpu_line(line)?;
            let field = |place: usize| {
                rest.split_whitespace()
                    .nth(place)
                    .and_then(|word| word.parse().ok())
            };
            Some((
                cpu,
                CpuTimes {
                    steal: field(7),
                    guest: field(8),
                },
            ))
        })
        .collect()
}

/// Calls of `schedule()`: the third field of each `cpuN` line in all known versions (14 to 17,
/// `Documentation/scheduler/sched-stats.rst`); `None` for a version that is not known.
///
/// The kernel counts only while `kernel.sched_schedstats` is 1; a reader must check that first.
#[must_use]
pub fn parse_schedstat(text: &str) -> Option<BTreeMap<u32, u64>> {
    let version: u32 = text
        .lines()
        .next()?
        .strip_prefix("version ")?
        .trim()
        .parse()
        .ok()?;
    if !(14..=17).contains(&version) {
        return None;
    }
    let line = |line: &str| {
        let (cpu, rest) = cpu_line(line)?;
        Some((cpu, rest.split_whitespace().nth(2)?.parse().ok()?))
    };
    Some(text.lines().filter_map(line).collect())
}

fn cpu_line(line: &str) -> Option<(u32, &str)> {
    let (cpu, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    Some((cpu.parse().ok()?, rest))
}
