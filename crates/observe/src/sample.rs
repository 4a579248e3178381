//! Reads all counters once, with a timestamp.

use crate::interrupts::CounterTableParser;
use crate::{CounterTable, CpuTimes, parse_interrupts, parse_schedstat, parse_stat, parse_timeslices};
use root::{Origin, Root};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters at one moment. Counters that could not be read are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterSample {
    /// Live: `CLOCK_MONOTONIC` in nanoseconds. Captured: `/proc/uptime`. `None` if neither is available.
    pub at_ns: Option<u64>,
    /// `/proc/interrupts`.
    pub interrupts: Option<CounterTable>,
    /// `/proc/softirqs`.
    pub softirqs: Option<CounterTable>,
    /// `/proc/stat`, the lines of individual CPUs.
    pub times: Option<BTreeMap<u32, CpuTimes>>,
    /// `/proc/schedstat`: calls of `schedule()` per CPU.
    pub schedules: Option<BTreeMap<u32, u64>>,
}

impl CounterSample {
    /// Reads the counters. Files that are missing or refused give `None`.
    #[must_use]
    pub fn take(root: &Root) -> CounterSample {
        let text = |path: &str| root.readable_text(path);
        let schedstats_on = root.readable_value("/proc/sys/kernel/sched_schedstats").as_deref() == Some("1");
        CounterSample {
            interrupts: interrupts(root),
            softirqs: text("/proc/softirqs").and_then(|text| parse_interrupts(&text)),
            times: text("/proc/stat").map(|text| parse_stat(&text)),
            // The counters keep their last values while the statistics are off.
            schedules: schedstats_on
                .then(|| text("/proc/schedstat").and_then(|text| parse_schedstat(&text)))
                .flatten(),
            at_ns: time(root),
        }
    }
}

/// How often a task got each CPU (`/proc/schedstat`). The kernel counts this even if `kernel.sched_schedstats` is 0.
#[must_use]
pub fn timeslices(root: &Root) -> Option<BTreeMap<u32, u64>> {
    let text = root.readable_text("/proc/schedstat")?;
    parse_timeslices(&text)
}

/// Parses line by line: with 1,024 CPUs and 10,000 interrupts the file has over 100 MB.
fn interrupts(root: &Root) -> Option<CounterTable> {
    let mut reader = CounterTableParser::default();
    let there = root.lines("/proc/interrupts", &mut |line| reader.line(line)).ok()?;
    if there { reader.finish() } else { None }
}

fn time(root: &Root) -> Option<u64> {
    match root.origin() {
        Origin::Live => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            Some(u64::try_from(now.tv_sec).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec).ok()?)
        }
        Origin::Captured => {
            let text = root.readable_value("/proc/uptime")?;
            let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
            let (seconds, hundredths): (u64, u64) = (seconds.parse().ok()?, hundredths.parse().ok()?);
            seconds
                .checked_mul(1_000_000_000)?
                .checked_add(hundredths.checked_mul(10_000_000)?)
        }
    }
}
