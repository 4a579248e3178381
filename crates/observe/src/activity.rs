//! Computes the difference between two samples: which CPU was interrupted by what, and how often.

use crate::{Class, CloseActivity, CounterSample, CounterTable, of_interrupt, of_softirq};
use machine::{CpuId, CpuSet, OrderBy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The activity between two samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activity {
    /// Time between the two samples in nanoseconds; 0 if unknown.
    pub duration_ns: u64,
    /// Every CPU that was online in both samples, by number.
    pub cpus: Vec<CpuActivity>,
}

/// The activity on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuActivity {
    /// The CPU.
    pub cpu: CpuId,
    /// Interrupts of the CPU's own timer (class `tick`); `None` if no row counts them.
    pub ticks: Option<u64>,
    /// Interrupts, most frequent first, including ticks; zero counts are omitted.
    pub interrupts: Vec<CounterIncrease>,
    /// Softirqs, most frequent first; zero counts are omitted.
    pub softirqs: Vec<CounterIncrease>,
    /// Calls of `schedule()`; `None` without `/proc/schedstat` or while `kernel.sched_schedstats` is 0.
    pub context_switches: Option<u64>,
    /// Steal time in nanoseconds, with the resolution of `USER_HZ` (normally 10 ms).
    pub steal_ns: Option<u64>,
    /// Counters that are read for selected CPUs only; `None` if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<CloseActivity>,
}

/// One counter that increased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterIncrease {
    /// Name of the row: `LOC`, `36`, `IPI0`, `TIMER`.
    pub name: String,
    /// The kernel's description beside the counts (`Local timer interrupts`, `PCI-MSIX-... virtio1-req.0`).
    pub what: String,
    /// Class of interruption.
    pub class: Class,
    /// Number of interruptions.
    pub count: u64,
}

/// The activity between two samples of the same machine and boot.
///
/// CPUs without a column in one of the samples are left out, because their activity is unknown. A counter that
/// decreased from the upper half has wrapped (the kernel counts in 32 bits). Otherwise it was reset
/// (an interrupt was freed and requested again).
#[must_use]
pub fn activity(before: &CounterSample, after: &CounterSample) -> Activity {
    let duration_ns = match (before.at_ns, after.at_ns) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => 0,
    };
    let interrupts = deltas(before.interrupts.as_ref(), after.interrupts.as_ref(), of_interrupt);
    let softirqs = deltas(before.softirqs.as_ref(), after.softirqs.as_ref(), |name, _| {
        of_softirq(name)
    });
    let cpus = measured_cpus(before, after);
    // Whether any row counts ticks is a property of the table, not of one CPU.
    let knows_ticks = after.interrupts.as_ref().is_some_and(|table| {
        table
            .rows
            .iter()
            .any(|(name, row)| of_interrupt(name, &row.what) == Class::Tick)
    });
    let cpus = cpus.iter().map(|cpu| {
        let interrupts = sorted(interrupts.get(&cpu.0));
        let ticks = interrupts
            .iter()
            .filter(|counted| counted.class == Class::Tick)
            .map(|counted| counted.count);
        CpuActivity {
            cpu,
            ticks: knows_ticks.then(|| ticks.fold(0, u64::saturating_add)),
            softirqs: sorted(softirqs.get(&cpu.0)),
            context_switches: context_switches(before, after, cpu.0),
            steal_ns: steal_ns(before, after, cpu.0),
            close: None,
            interrupts,
        }
    });
    Activity {
        duration_ns,
        cpus: cpus.collect(),
    }
}

/// The columns of `/proc/interrupts`, which are the online CPUs; without that file, the columns of `/proc/stat`.
fn measured_cpus(before: &CounterSample, after: &CounterSample) -> CpuSet {
    let online = |sample: &CounterSample| match (&sample.interrupts, &sample.times) {
        (Some(table), _) => table.cpus.clone(),
        (None, Some(times)) => times.keys().map(|&cpu| CpuId(cpu)).collect(),
        (None, None) => sample
            .softirqs
            .as_ref()
            .map_or_else(CpuSet::new, |table| table.cpus.clone()),
    };
    online(before).and(&online(after))
}

/// Non-zero differences by CPU, computed in one pass over the non-zero cells.
fn deltas(
    before: Option<&CounterTable>,
    after: Option<&CounterTable>,
    class_of: impl Fn(&str, &str) -> Class,
) -> BTreeMap<u32, Vec<CounterIncrease>> {
    let mut by_cpu: BTreeMap<u32, Vec<CounterIncrease>> = BTreeMap::new();
    let (Some(before), Some(after)) = (before, after) else {
        return by_cpu;
    };
    for (name, row) in &after.rows {
        // The same number with another text is another interrupt, whose count started at 0.
        let earlier = before.rows.get(name).filter(|earlier| earlier.what == row.what);
        let class = class_of(name, &row.what);
        for &(cpu, count) in &row.counts {
            if !before.cpus.contains(CpuId(cpu)) {
                continue;
            }
            let count = difference(earlier.map_or(0, |earlier| earlier.at(cpu)), count);
            if count > 0 {
                let counted = CounterIncrease {
                    name: name.clone(),
                    what: row.what.clone(),
                    class,
                    count,
                };
                by_cpu.entry(cpu).or_default().push(counted);
            }
        }
    }
    by_cpu
}

fn difference(before: u64, after: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    if after >= before {
        after - before
    } else if (WRAP / 2..WRAP).contains(&before) {
        after + WRAP - before
    } else {
        after
    }
}

fn sorted(counted: Option<&Vec<CounterIncrease>>) -> Vec<CounterIncrease> {
    let mut counted = counted.cloned().unwrap_or_default();
    counted.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    counted
}

fn context_switches(before: &CounterSample, after: &CounterSample, cpu: u32) -> Option<u64> {
    let before = before.schedules.as_ref()?.get(&cpu)?;
    Some(difference(*before, *after.schedules.as_ref()?.get(&cpu)?))
}

fn steal_ns(before: &CounterSample, after: &CounterSample, cpu: u32) -> Option<u64> {
    let before = before.times.as_ref()?.get(&cpu)?.steal?;
    let after = after.times.as_ref()?.get(&cpu)?.steal?;
    let per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(after.saturating_sub(before).saturating_mul(per_tick))
}
