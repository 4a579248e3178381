//! Reads settings that do not change during the window: governors, idle states, siblings, tracers.

use machine::{CpuId, CpuSet, MapEntries};
use root::Root;
use std::collections::BTreeMap;

/// Settings, read once before the window. Missing files are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionSettings {
    /// The frequency governor of each measured CPU.
    pub governors: BTreeMap<CpuId, String>,
    /// The enabled idle states of each measured CPU: name, and exit latency in microseconds.
    pub idle_states: BTreeMap<CpuId, Vec<(String, u64)>>,
    /// The other CPUs of each measured CPU's core.
    pub siblings: BTreeMap<CpuId, CpuSet>,
    /// Active tracers and trace events: where, and what.
    pub tracing: Vec<(String, String)>,
    /// Whether the kernel checks its own locks (lockdep).
    pub lockdep: bool,
}

const CPU: &str = "/sys/devices/system/cpu";

/// The path since 4.1, and the earlier one.
const TRACING: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl ConditionSettings {
    /// Reads the settings for these CPUs. Interrupts no CPU: the kernel keeps all of them in memory.
    pub(crate) fn read(root: &Root, cpus: &CpuSet) -> ConditionSettings {
        let by_cpu = |read: &dyn Fn(CpuId) -> Option<String>| -> BTreeMap<CpuId, String> {
            cpus.iter().filter_map(|cpu| Some((cpu, read(cpu)?))).into_map()
        };
        ConditionSettings {
            governors: by_cpu(&|cpu| value(root, &format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"))),
            idle_states: cpus.iter().map(|cpu| (cpu, idle_states(root, cpu))).into_map(),
            siblings: cpus
                .iter()
                .filter_map(|cpu| Some((cpu, siblings(root, cpu)?)))
                .into_map(),
            tracing: tracing(root),
            lockdep: root.kind("/proc/lockdep").ok().flatten().is_some(),
        }
    }
}

fn value(root: &Root, path: &str) -> Option<String> {
    root.readable_value(path)
}

fn idle_states(root: &Root, cpu: CpuId) -> Vec<(String, u64)> {
    let dir = format!("{CPU}/cpu{cpu}/cpuidle");
    let names = root.readable_names(&dir).unwrap_or_default();
    let states = names.iter().filter(|name| name.starts_with("state"));
    let known = states.filter_map(|state| {
        let number = |file: &str| value(root, &format!("{dir}/{state}/{file}"))?.parse::<u64>().ok();
        let name = value(root, &format!("{dir}/{state}/name")).unwrap_or_else(|| state.clone());
        // A kernel without this file cannot disable idle states.
        match number("disable") {
            Some(0) | None => Some((name, number("latency")?)),
            Some(_) => None,
        }
    });
    known.collect()
}

fn siblings(root: &Root, cpu: CpuId) -> Option<CpuSet> {
    let names = ["core_cpus_list", "thread_siblings_list"];
    let list = names
        .iter()
        .find_map(|name| value(root, &format!("{CPU}/cpu{cpu}/topology/{name}")))?;
    let core = CpuSet::parse_list(&list).ok()?;
    Some(core.minus(&CpuSet::range(cpu.0, cpu.0)))
}

/// Reads the main trace and all instances, except those where recording is off.
fn tracing(root: &Root) -> Vec<(String, String)> {
    let Some(top) = TRACING
        .iter()
        .find(|dir| value(root, &format!("{dir}/current_tracer")).is_some())
    else {
        return Vec::new();
    };
    let instances = root.readable_names(&format!("{top}/instances")).unwrap_or_default();
    let below = instances.iter().map(|name| format!("{top}/instances/{name}"));
    let places = std::iter::once((*top).to_owned()).chain(below);
    places
        .filter_map(|dir| traced(root, &dir).map(|what| (dir, what)))
        .collect()
}

fn traced(root: &Root, dir: &str) -> Option<String> {
    let read = |file: &str| value(root, &format!("{dir}/{file}"));
    if read("tracing_on").as_deref() == Some("0") {
        return None;
    }
    match read("current_tracer") {
        Some(tracer) if tracer != "nop" => Some(format!("the tracer {tracer}")),
        // 1: all events; X: some.
        _ => matches!(read("events/enable").as_deref(), Some("1" | "X")).then(|| "trace events".to_owned()),
    }
}
