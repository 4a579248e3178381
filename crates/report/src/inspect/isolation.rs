//! Shows the current isolation, in the terms of each mechanism.

use crate::style::{COLUMNS, Style, TextRole, safe, wrap};
use machine::{CpuSet, Machine, Partition, Version};
use std::io::{self, Write};

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
            (
                kind,
                invalid.map(|why| {
                    if why.is_empty() {
                        "the kernel gives no reason"
                    } else {
                        why
                    }
                }),
            )
        }
    }
}

/// The CPUs assigned to a partition.
pub(super) fn configured_cpus(partition: &Partition) -> Option<&CpuSet> {
    let chosen = partition.cpus.as_ref().filter(|set| !set.is_empty());
    let exclusive = partition.cpus_exclusive.as_ref().filter(|set| !set.is_empty());
    chosen
        .or(exclusive)
        .or(partition.effective_cpus.as_ref())
        .or(partition.cpus.as_ref())
}

/// The CPUs that a valid, isolated partition removes from the others; `None` for other partitions.
pub(super) fn partition_cpus(partition: &Partition) -> Option<&CpuSet> {
    match partition_kind(partition) {
        ("isolated", None) if partition.name != "/" => configured_cpus(partition),
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

pub(super) fn write(machine: &Machine, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", style.paint(TextRole::Head, "Isolation in force"))?;
    line(out, "boot line", &boot_words(machine))?;
    let isolation = &machine.isolation;
    line(
        out,
        "isolcpus",
        &set(&isolation.boot_isolated, "out of the scheduler's domains since boot"),
    )?;
    line(
        out,
        "nohz_full",
        &set(&isolation.nohz_full, "the tick stops there while one task runs"),
    )?;
    line(
        out,
        "rcu_nocbs",
        &set(&isolation.rcu_nocbs, "RCU callbacks run elsewhere"),
    )?;
    line(out, "interrupts", &interrupts(machine))?;
    line(
        out,
        "workqueues",
        &mask(&isolation.workqueue_cpumask, "run unbound work"),
    )?;
    let partitions: Vec<&Partition> = isolation.partitions.iter().collect();
    if partitions.is_empty() {
        let text = if machine.cgroups.cpuset.is_some() {
            "none"
        } else {
            "unknown: no cpuset controller here"
        };
        line(out, "partitions", text)?;
    }
    for (place, partition) in partitions.iter().enumerate() {
        line(out, if place == 0 { "partitions" } else { "" }, &describe(partition))?;
    }
    if let Some(cpus) = &isolation.kept_free {
        let text = format!(
            "CPU {cpus} kept free by AllowedCPUs of system.slice, user.slice and init.scope; kernel threads and interrupts \
             are not kept away"
        );
        line(out, "slices", &text)?;
    }
    Ok(())
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
    let cpus = match configured_cpus(partition) {
        None => "CPUs unknown".to_owned(),
        Some(set) if set.is_empty() => "no CPU".to_owned(),
        Some(set) => format!("CPU {set}"),
    };
    let (version, how) = match partition.version {
        Version::V1 => ("v1", "no load balancing".to_owned()),
        Version::V2 => ("v2", kind.to_owned()),
    };
    let invalid = invalid.map_or_else(String::new, |why| format!("; INVALID, takes nothing: {}", safe(why)));
    format!("{} ({version}): {cpus}, {how}{invalid}", safe(&partition.name))
}

fn interrupts(machine: &Machine) -> String {
    let isolation = &machine.isolation;
    let boot = match &isolation.irqaffinity {
        Some(set) if !set.is_empty() => format!("; irqaffinity={set} at boot"),
        _ => String::new(),
    };
    match &isolation.default_smp_affinity {
        None => format!("where new ones go is unknown{boot}"),
        Some(set) => format!("new ones go to CPU {set}{boot}"),
    }
}

fn set(set: &Option<CpuSet>, meaning: &str) -> String {
    match set {
        None => "unknown".to_owned(),
        Some(set) if set.is_empty() => "none".to_owned(),
        Some(set) => format!("CPU {set}: {meaning}"),
    }
}

fn mask(set: &Option<CpuSet>, meaning: &str) -> String {
    match set {
        None => "unknown".to_owned(),
        Some(set) => format!("CPU {set} {meaning}"),
    }
}

fn line(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:14} {}", wrap(value, 17, COLUMNS))
}
