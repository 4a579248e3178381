//! Reads counters of selected CPUs that the machine-wide tables lack: idle states, frequency changes, throttling,
//! and page faults and context switches of the threads there.
//!
//! The kernel keeps all of them in memory: no read here sends an interrupt to the observed CPU. For that reason the
//! frequency itself is not included, and neither are `perf` events, which are opened and read on their CPU.

use machine::{CpuId, CpuSet, MapEntries, Task};
use root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters at one moment. Counters that the kernel does not keep are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloseSample {
    cpus: BTreeMap<CpuId, CloseCounts>,
    threads: BTreeMap<u32, ThreadCounts>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CloseCounts {
    timeslices: Option<u64>,
    idle: Option<BTreeMap<u32, IdleStateSample>>,
    frequency_changes: Option<u64>,
    throttled: Option<u64>,
}

/// A `cpuidle` state at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct IdleStateSample {
    name: String,
    latency_us: u64,
    usage: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadCounts {
    cpu: CpuId,
    comm: String,
    start_time: u64,
    minor: u64,
    major: u64,
    switches: Option<u64>,
}

/// The activity on one CPU between two such samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CloseActivity {
    /// How often a task got the CPU (`/proc/schedstat`). The kernel counts this even if `kernel.sched_schedstats` is 0.
    pub timeslices: Option<u64>,
    /// Idle states that were entered, the shallowest first; empty if there were none, `None` without `cpuidle`.
    pub idle: Option<Vec<IdleStateEntries>>,
    /// Frequency changes; `None` if the driver keeps no statistics.
    pub frequency_changes: Option<u64>,
    /// How often the core was throttled because of its temperature; `None` if it is not counted.
    pub throttled: Option<u64>,
    /// Threads that existed before and after, and their activity; inactive ones are omitted.
    pub threads: Vec<ThreadActivity>,
}

/// An idle state that was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleStateEntries {
    /// Its name: `POLL`, `C1`, `C6`.
    pub name: String,
    /// Exit latency in microseconds, as reported by the driver.
    pub latency_us: u64,
    /// Number of entries.
    pub count: u64,
}

/// A thread whose last CPU is this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadActivity {
    /// Its TID.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Page faults that needed no disk access.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Voluntary and involuntary context switches; `None` if the kernel does not report them.
    pub switches: Option<u64>,
}

impl CloseSample {
    /// Reads the counters of the given CPUs, and of those `tasks` that last ran on them.
    #[must_use]
    pub fn take(root: &Root, cpus: &CpuSet, tasks: &[Task]) -> CloseSample {
        let timeslices = crate::timeslices(root);
        let counts = |cpu: CpuId| CloseCounts {
            timeslices: timeslices.as_ref().and_then(|all| all.get(&cpu.0)).copied(),
            idle: idle(root, cpu),
            frequency_changes: number(root, cpu, "cpufreq/stats/total_trans"),
            throttled: number(root, cpu, "thermal_throttle/core_throttle_count"),
        };
        let there = |task: &&Task| task.cpu.is_some_and(|cpu| cpus.contains(cpu));
        CloseSample {
            cpus: cpus.iter().map(|cpu| (cpu, counts(cpu))).into_map(),
            threads: tasks
                .iter()
                .filter(there)
                .filter_map(|task| Some((task.key.tid, thread(root, task)?)))
                .into_map(),
        }
    }
}

/// The activity between two samples, by CPU.
#[must_use]
pub fn close_up(before: &CloseSample, after: &CloseSample) -> BTreeMap<CpuId, CloseActivity> {
    let one = |(cpu, earlier): (&CpuId, &CloseCounts)| {
        let later = after.cpus.get(cpu)?;
        let grown = |earlier: Option<u64>, later: Option<u64>| later?.checked_sub(earlier?);
        let threads = before.threads.iter().filter(|(_, thread)| thread.cpu == *cpu);
        Some((
            *cpu,
            CloseActivity {
                timeslices: grown(earlier.timeslices, later.timeslices),
                idle: entered(earlier.idle.as_ref(), later.idle.as_ref()),
                frequency_changes: grown(earlier.frequency_changes, later.frequency_changes),
                throttled: grown(earlier.throttled, later.throttled),
                threads: threads
                    .filter_map(|(tid, thread)| thread_activity(*tid, thread, after.threads.get(tid)?))
                    .collect(),
            },
        ))
    };
    before.cpus.iter().filter_map(one).into_map()
}

fn number(root: &Root, cpu: CpuId, file: &str) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{}/{file}", cpu.0);
    root.readable_value(&path)?.parse().ok()
}

fn idle(root: &Root, cpu: CpuId) -> Option<BTreeMap<u32, IdleStateSample>> {
    let dir = format!("/sys/devices/system/cpu/cpu{}/cpuidle", cpu.0);
    let names = root.readable_names(&dir)?;
    let state = |name: &String| {
        let place: u32 = name.strip_prefix("state")?.parse().ok()?;
        let number = |file: &str| number(root, cpu, &format!("cpuidle/{name}/{file}"));
        let state = IdleStateSample {
            name: root.readable_value(&format!("{dir}/{name}/name"))?,
            latency_us: number("latency")?,
            usage: number("usage")?,
        };
        Some((place, state))
    };
    let states: BTreeMap<u32, IdleStateSample> = names.iter().filter_map(state).into_map();
    (!states.is_empty()).then_some(states)
}

fn entered(
    before: Option<&BTreeMap<u32, IdleStateSample>>,
    after: Option<&BTreeMap<u32, IdleStateSample>>,
) -> Option<Vec<IdleStateEntries>> {
    let before = before?;
    let one = |(place, later): (&u32, &IdleStateSample)| {
        let count = later.usage.checked_sub(before.get(place)?.usage)?;
        (count > 0).then(|| IdleStateEntries {
            name: later.name.clone(),
            latency_us: later.latency_us,
            count,
        })
    };
    Some(after?.iter().filter_map(one).collect())
}

/// Fields 10 and 12 of `stat`, and the two lines of `status`.
fn thread(root: &Root, task: &Task) -> Option<ThreadCounts> {
    let dir = format!("/proc/{}/task/{}", task.pid, task.key.tid);
    let stat = root.readable_text(&format!("{dir}/stat"))?;
    let (minor, major) = parse_faults(&stat)?;
    let now = machine::tasks::parse_stat(&stat).ok()?;
    let status = root.readable_text(&format!("{dir}/status"));
    Some(ThreadCounts {
        cpu: now.cpu?,
        comm: now.comm,
        start_time: now.key.start_time,
        minor,
        major,
        switches: status.as_deref().and_then(parse_switches),
    })
}

/// Minor and major page faults from a line of `stat`. The name may contain spaces and parentheses, the later fields may not.
fn parse_faults(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let field = |number: usize| fields.split_whitespace().nth(number - 3)?.parse().ok();
    Some((field(10)?, field(12)?))
}

/// The sum of voluntary and involuntary switches in a `status`.
fn parse_switches(status: &str) -> Option<u64> {
    let line = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim().parse::<u64>().ok()
    };
    line("voluntary_ctxt_switches:")?.checked_add(line("nonvoluntary_ctxt_switches:")?)
}

/// `None` if the TID was reused, or if the thread moved to another CPU between the samples.
fn thread_activity(tid: u32, before: &ThreadCounts, after: &ThreadCounts) -> Option<ThreadActivity> {
    let is_same = before.start_time == after.start_time && before.cpu == after.cpu;
    let did = ThreadActivity {
        tid,
        comm: after.comm.clone(),
        minor_faults: after.minor.checked_sub(before.minor)?,
        major_faults: after.major.checked_sub(before.major)?,
        switches: after
            .switches
            .zip(before.switches)
            .and_then(|(after, before)| after.checked_sub(before)),
    };
    let is_something = did.minor_faults > 0 || did.major_faults > 0 || did.switches != Some(0);
    (is_same && is_something).then_some(did)
}
