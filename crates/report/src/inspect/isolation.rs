//! Shows the current isolation, in the terms of each mechanism.

use crate::report_text::ReportText;
use crate::style::{COLUMNS, safe, wrap};
use machine::{CpuSet, Machine, Partition, Version};

/// The type of a partition (`isolated`, `root`, `member`), with the reason if the kernel reports it as invalid.
///
/// A v1 set is listed as a partition only if it does not balance load, which is the meaning of `isolated`.
pub(super) fn partition_kind(partition: &Partition) -> (&str, Option<&str>) {
    match (partition.version, partition.partition.as_deref()) {
        (Version::V1, _) => ("isolated", None),
        (Version::V2, None) => ("member", None),
        (Version::V2, Some(state)) => {
            let kind = state.split_whitespace().next().unwrap_or("member");
            let invalid = state
                .split_once(" invalid")
                .map(|(_, why)| why.trim().trim_matches(['(', ')']));
            let reason = |why| match why {
                "" => "the kernel gives no reason",
                why => why,
            };
            (kind, invalid.map(reason))
        }
    }
}

/// The CPUs that a valid, isolated partition removes from the others; `None` for other partitions.
pub(super) fn partition_cpus(partition: &Partition) -> Option<&CpuSet> {
    match partition_kind(partition) {
        ("isolated", None) if partition.name != "/" => partition.assigned_cpus(),
        _ => None,
    }
}

/// Boot parameters related to isolation.
const BOOT_WORDS: [&str; 12] = [
    "isolcpus",
    "nohz_full",
    "nohz",
    "rcu_nocbs",
    "irqaffinity",
    "rcu_nocb_poll",
    "kthread_cpus",
    "nosmt",
    "maxcpus",
    "skew_tick",
    "tsc",
    "idle",
];

pub(super) fn write(text: &mut ReportText, machine: &Machine) {
    let isolation = &machine.isolation;
    let isolcpus = set(&isolation.boot_isolated, "excluded from scheduling domains at boot");
    let nohz_full = set(&isolation.nohz_full, "tick may stop while one task runs");
    let workqueues = match &isolation.workqueue_cpumask {
        None => "unknown".to_owned(),
        Some(set) => format!("CPU {set} run unbound work"),
    };
    let mut partitions: Vec<String> = isolation.partitions.iter().map(describe).collect();
    if partitions.is_empty() {
        partitions.push(match machine.cgroups.cpuset {
            Some(_) => "none".to_owned(),
            None => "unknown: there is no cpuset controller".to_owned(),
        });
    }
    let names = std::iter::once("partitions").chain(std::iter::repeat(""));
    let slices = isolation.kept_free.as_ref().map(|cpus| {
        format!(
            "AllowedCPUs of system.slice, user.slice and init.scope blocks services and sessions from CPU {cpus}; \
             kernel threads and interrupts may still run there"
        )
    });
    let mut lines = vec![
        ("boot line", boot_words(machine)),
        ("isolcpus", isolcpus),
        ("nohz_full", nohz_full),
        ("rcu_nocbs", set(&isolation.rcu_nocbs, "RCU callbacks run elsewhere")),
        ("interrupts", interrupts(machine)),
        ("workqueues", workqueues),
    ];
    lines.extend(names.zip(partitions));
    lines.extend(slices.map(|slices| ("slices", slices)));
    text.heading("Active isolation");
    for (name, value) in lines {
        writeln!(text, "  {name:14} {}", wrap(&value, 17, COLUMNS));
    }
}

fn boot_words(machine: &Machine) -> String {
    let Some(line) = &machine.kernel.cmdline else {
        return "unknown".to_owned();
    };
    let here = line
        .parameters
        .iter()
        .filter(|word| BOOT_WORDS.contains(&word.name.as_str()));
    let words: Vec<String> = here
        .map(|word| match &word.value {
            Some(value) => format!("{}={}", safe(&word.name), safe(value)),
            None => safe(&word.name),
        })
        .collect();
    if words.is_empty() {
        "nothing about isolation".to_owned()
    } else {
        words.join(" ")
    }
}

fn describe(partition: &Partition) -> String {
    let (kind, invalid) = partition_kind(partition);
    let cpus = match partition.assigned_cpus() {
        None => "CPUs unknown".to_owned(),
        Some(set) if set.is_empty() => "no CPU".to_owned(),
        Some(set) => format!("CPU {set}"),
    };
    let (version, how) = match partition.version {
        Version::V1 => ("v1", "no load balancing".to_owned()),
        Version::V2 => ("v2", kind.to_owned()),
    };
    let invalid = invalid.map_or_else(String::new, |why| format!("; INVALID, has no effect: {}", safe(why)));
    format!("{} ({version}): {cpus}, {how}{invalid}", safe(&partition.name))
}

fn interrupts(machine: &Machine) -> String {
    let isolation = &machine.isolation;
    let boot = match &isolation.irqaffinity {
        Some(set) if !set.is_empty() => format!("; irqaffinity={set} at boot"),
        _ => String::new(),
    };
    match &isolation.default_smp_affinity {
        None => format!("CPUs of new interrupts are unknown{boot}"),
        Some(set) => format!("new interrupts go to CPU {set}{boot}"),
    }
}

fn set(set: &Option<CpuSet>, meaning: &str) -> String {
    match set {
        None => "unknown".to_owned(),
        Some(set) if set.is_empty() => "none".to_owned(),
        Some(set) => format!("CPU {set}: {meaning}"),
    }
}
