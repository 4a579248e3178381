//! Parses `/proc/stat` (steal time) and `/proc/schedstat` (calls of `schedule()`), per CPU.

use machine::MapEntries;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of one CPU in `USER_HZ` ticks (`fs/proc/stat.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Time in all states. User time already includes guest time.
    #[serde(default)]
    pub total: u64,
    /// Idle time, including time waiting for input or output.
    #[serde(default)]
    pub idle: u64,
    /// Steal time; `None` on kernels without the field.
    pub steal: Option<u64>,
    /// Time spent running guests.
    pub guest: Option<u64>,
}

impl CpuTimes {
    /// Percentage of the time since an earlier reading that the CPU was busy; `None` if no time has passed.
    #[must_use]
    pub fn load_since(&self, earlier: &CpuTimes) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total).filter(|total| *total > 0)?;
        // The kernel's idle time of a CPU may decrease by a tick.
        let idle = self.idle.saturating_sub(earlier.idle).min(total);
        Some((total - idle) as f64 * 100.0 / total as f64)
    }

    /// Total of several CPUs.
    #[must_use]
    pub fn sum<'a>(times: impl IntoIterator<Item = &'a CpuTimes>) -> CpuTimes {
        times.into_iter().fold(CpuTimes::default(), |sum, times| CpuTimes {
            total: sum.total.saturating_add(times.total),
            idle: sum.idle.saturating_add(times.idle),
            steal: None,
            guest: None,
        })
    }
}

/// Parses the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`.
#[must_use]
pub fn parse_stat(text: &str) -> BTreeMap<u32, CpuTimes> {
    text.lines()
        .filter_map(|line| {
            let (cpu, rest) = cpu_line(line)?;
            let field = |place: usize| rest.split_whitespace().nth(place).and_then(|word| word.parse().ok());
            let sum = |places: &mut dyn Iterator<Item = usize>| places.filter_map(field).fold(0, u64::saturating_add);
            Some((
                cpu,
                CpuTimes {
                    total: sum(&mut (0..8)),
                    idle: sum(&mut (3..5)),
                    steal: field(7),
                    guest: field(8),
                },
            ))
        })
        .into_map()
}

/// Calls of `schedule()`: the third field of each `cpuN` line in all known versions (14 to 17,
/// `Documentation/scheduler/sched-stats.rst`); `None` for an unknown version.
///
/// The kernel counts only while `kernel.sched_schedstats` is 1; the caller must check that first.
#[must_use]
pub fn parse_schedstat(text: &str) -> Option<BTreeMap<u32, u64>> {
    of_each(text, 3)
}

/// How often a task got the CPU: the ninth field, which the kernel always counts (`sched_info_arrive`).
#[must_use]
pub fn parse_timeslices(text: &str) -> Option<BTreeMap<u32, u64>> {
    of_each(text, 9)
}

fn of_each(text: &str, field: usize) -> Option<BTreeMap<u32, u64>> {
    let version: u32 = text.lines().next()?.strip_prefix("version ")?.trim().parse().ok()?;
    if !(14..=17).contains(&version) {
        return None;
    }
    let line = |line: &str| {
        let (cpu, rest) = cpu_line(line)?;
        Some((cpu, rest.split_whitespace().nth(field - 1)?.parse().ok()?))
    };
    Some(text.lines().filter_map(line).into_map())
}

fn cpu_line(line: &str) -> Option<(u32, &str)> {
    let (cpu, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    Some((cpu.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_share_of_time_that_was_not_idle() {
        let at = |text| parse_stat(text).remove(&3).unwrap();
        let earlier = at("cpu  9 9 9 9\ncpu3 100 0 50 800 50 0 0 0 0 0\n");
        let later = at("cpu3 130 0 60 850 60 0 0 0 25 0\n");
        assert_eq!(later.load_since(&earlier), Some(40.0));
        assert_eq!(later.load_since(&later), None);
        assert_eq!(earlier.load_since(&later), None);
        let stepped = CpuTimes {
            total: later.total + 10,
            idle: later.idle - 1,
            ..later
        };
        assert_eq!(stepped.load_since(&later), Some(100.0));
        let both = CpuTimes::sum([&later, &earlier]);
        assert_eq!((both.total, both.idle), (2_100, 1_760));
        // A file can contain any number.
        let huge = at("cpu3 18446744073709551615 1 2 18446744073709551615 3 0 0 0 0 0\n");
        assert_eq!((huge.total, huge.idle), (u64::MAX, u64::MAX));
        assert_eq!(CpuTimes::sum([&huge, &huge]).total, u64::MAX);
    }
}
