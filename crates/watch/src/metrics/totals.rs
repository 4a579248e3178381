//! Sums up the counts of each isolated CPU since boot, as monotonic counters.
//!
//! The kernel's own counts are not monotonic: they are 32 bits wide, they restart when an interrupt is freed and requested
//! again, and an offline CPU has none. So the differences are added up.

use machine::{CpuId, CpuSet, MapEntries};
use observe::{Activity, Class, CounterSample, CounterTable, activity, of_interrupt, of_softirq};
use std::collections::{BTreeMap, BTreeSet};

/// Context switches by CPU, from `/proc/schedstat`.
type Switches = BTreeMap<u32, u64>;

/// All observed CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityTotals {
    before: CounterSample,
    switched: Option<Switches>,
    cpus: BTreeMap<CpuId, CpuTotal>,
}

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTotal {
    /// Whether it was online in the last sample.
    pub is_online: bool,
    /// The count of each class that this machine counts.
    pub classes: BTreeMap<Class, u64>,
    /// How often a task was switched in; `None` if the kernel does not count.
    pub switches: Option<u64>,
    /// Time that the hypervisor took, in nanoseconds; `None` if the kernel does not count.
    pub steal_ns: Option<u64>,
}

impl ActivityTotals {
    /// Adds the counts since the last sample. A CPU that is new among `isolated` starts with the kernel's count since boot;
    /// one that is no longer among them is dropped.
    pub fn add(&mut self, sample: &CounterSample, switched: Option<Switches>, isolated: &CpuSet) {
        let after = of(sample, isolated);
        self.cpus.retain(|cpu, _| isolated.contains(*cpu));
        let first = activity(&before_all(&after), &after);
        let grown = activity(&self.before, &after);
        let online = columns(&after);
        let classes = classes(&after);
        for cpu in isolated.iter() {
            let one = |activity: &Activity| activity.cpus.iter().find(|one| one.cpu == cpu).cloned();
            let at = |table: Option<&Switches>| table.and_then(|table| table.get(&cpu.0)).copied();
            let now = at(switched.as_ref());
            let known = self.cpus.remove(&cpu);
            let is_known = known.is_some();
            if !is_known && !online.contains(cpu) {
                continue;
            }
            let mut total = known.unwrap_or_default();
            total.is_online = online.contains(cpu);
            if total.is_online {
                for class in &classes {
                    total.classes.entry(*class).or_default();
                }
            }
            if let Some(did) = if is_known { one(&grown) } else { one(&first) } {
                for counted in did.interrupts.iter().chain(&did.softirqs) {
                    let sum = total.classes.entry(counted.class).or_default();
                    *sum = sum.saturating_add(counted.count);
                }
                total.steal_ns = sum(total.steal_ns, did.steal_ns);
            }
            let before = at(self.switched.as_ref());
            total.switches = match (total.switches, before, now) {
                (None, _, now) => now,
                // A count that decreased was restarted.
                (Some(all), Some(before), Some(now)) => {
                    Some(all.saturating_add(now.checked_sub(before).unwrap_or(now)))
                }
                (all, ..) => all,
            };
            self.cpus.insert(cpu, total);
        }
        (self.before, self.switched) = (after, switched);
    }

    /// Every observed CPU that has been online, by number.
    pub fn cpus(&self) -> impl Iterator<Item = (CpuId, &CpuTotal)> {
        self.cpus.iter().map(|(cpu, total)| (*cpu, total))
    }
}

fn sum(all: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (all, more) {
        (Some(all), Some(more)) => Some(all.saturating_add(more)),
        (all, more) => all.or(more),
    }
}

/// The columns of some CPUs.
fn of(sample: &CounterSample, cpus: &CpuSet) -> CounterSample {
    let table = |table: &CounterTable| CounterTable {
        cpus: table.cpus.and(cpus),
        rows: table
            .rows
            .iter()
            .map(|(name, row)| {
                let mut row = row.clone();
                row.counts.retain(|(cpu, _)| cpus.contains(CpuId(*cpu)));
                (name.clone(), row)
            })
            .into_map(),
    };
    CounterSample {
        at_ns: sample.at_ns,
        interrupts: sample.interrupts.as_ref().map(table),
        softirqs: sample.softirqs.as_ref().map(table),
        times: sample.times.as_ref().map(|times| {
            let mut times = times.clone();
            times.retain(|cpu, _| cpus.contains(CpuId(*cpu)));
            times
        }),
        schedules: None,
    }
}

/// The same CPUs with all counts zero.
fn before_all(sample: &CounterSample) -> CounterSample {
    let table = |table: &CounterTable| CounterTable {
        cpus: table.cpus.clone(),
        rows: BTreeMap::new(),
    };
    CounterSample {
        at_ns: None,
        interrupts: sample.interrupts.as_ref().map(table),
        softirqs: sample.softirqs.as_ref().map(table),
        times: sample.times.as_ref().map(|times| {
            let mut times = times.clone();
            for one in times.values_mut() {
                one.steal = one.steal.map(|_| 0);
            }
            times
        }),
        schedules: None,
    }
}

fn columns(sample: &CounterSample) -> CpuSet {
    let table = sample.interrupts.as_ref().or(sample.softirqs.as_ref());
    table.map(|table| table.cpus.clone()).unwrap_or_default()
}

/// The classes that this machine has rows for; they start at 0.
fn classes(sample: &CounterSample) -> BTreeSet<Class> {
    let interrupts = sample.interrupts.iter().flat_map(|table| &table.rows);
    let softirqs = sample.softirqs.iter().flat_map(|table| &table.rows);
    interrupts
        .map(|(name, row)| of_interrupt(name, &row.what))
        .chain(softirqs.map(|(name, _)| of_softirq(name)))
        .collect()
}
