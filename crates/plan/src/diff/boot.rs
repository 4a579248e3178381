//! Compares the kernel and its boot line.

use super::{ReadingPair, ValueChange};
use crate::{FindingId, Level};
use machine::{Cmdline, Kernel};
use std::collections::{BTreeMap, BTreeSet};

/// The options of a kernel's configuration.
type KernelOptions = BTreeMap<String, String>;

/// Parameters that isolate: losing one means losing isolation.
const ISOLATING: [&str; 6] = [
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "kthread_cpus",
    "cpuset",
];

/// Configuration options that decide what a boot line can do.
const OPTIONS: [&str; 9] = [
    "CONFIG_HZ",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_RCU_NOCB_CPU",
    "CONFIG_CPU_ISOLATION",
    "CONFIG_CPUSETS",
    "CONFIG_PREEMPT_RT",
    "CONFIG_PREEMPT_DYNAMIC",
    "CONFIG_IRQ_FORCED_THREADING",
    "CONFIG_HIGH_RES_TIMERS",
];

pub(super) fn compare(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    let (old, new) = (&before.machine.kernel, &after.machine.kernel);
    if old.boot_id.is_some() && new.boot_id.is_some() && old.boot_id != new.boot_id {
        let step = ValueChange {
            before: old.boot_id.clone(),
            after: new.boot_id.clone(),
        };
        pair.add(
            FindingId::REBOOTED,
            Level::Info,
            "boot",
            step,
            "the machine was restarted between the two readings",
        );
    }
    texts(pair, old, new);
    if let (Some(old), Some(new)) = (&old.cmdline, &new.cmdline) {
        boot_line(pair, old, new);
    }
    if let (Some(old), Some(new)) = (&old.config, &new.config) {
        configuration(pair, old, new);
    }
}

/// Facts about the kernel that are one text each.
fn texts(pair: &mut ReadingPair, old: &Kernel, new: &Kernel) {
    let texts = [
        (
            FindingId::KERNEL_RELEASE,
            "kernel",
            Level::Warning,
            old.release.clone(),
            new.release.clone(),
        ),
        (
            FindingId::PREEMPTION,
            "preemption model",
            Level::Error,
            preemption(old),
            preemption(new),
        ),
        (
            FindingId::CLOCKSOURCE,
            "clock source",
            Level::Warning,
            old.clocksource.clone(),
            new.clocksource.clone(),
        ),
        (
            FindingId::LOCKDOWN,
            "kernel lockdown",
            Level::Info,
            old.lockdown.clone(),
            new.lockdown.clone(),
        ),
    ];
    for (id, name, level, old, new) in texts {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            pair.add(
                id,
                level,
                name,
                ValueChange::new(&old, &new),
                format!("{name}: {old} -> {new}"),
            );
        }
    }
}

fn configuration(pair: &mut ReadingPair, old: &KernelOptions, new: &KernelOptions) {
    for option in OPTIONS {
        let value = |config: &KernelOptions| config.get(option).cloned().unwrap_or("n".to_owned());
        let (old, new) = (value(old), value(new));
        if old != new {
            let message = format!("kernel configuration: {option}={old} -> {option}={new}");
            let step = ValueChange::new(&old, &new);
            pair.add(FindingId::KERNEL_CONFIG, Level::Warning, option, step, message);
        }
    }
}

fn preemption(kernel: &Kernel) -> Option<String> {
    kernel.preemption.map(|model| format!("{model:?}").to_lowercase())
}

fn boot_line(pair: &mut ReadingPair, old: &Cmdline, new: &Cmdline) {
    let names =
        |line: &Cmdline| -> BTreeSet<String> { line.parameters.iter().map(|one| one.name.replace('-', "_")).collect() };
    let values = |line: &Cmdline, name: &str| -> Vec<String> {
        let text = |one: &machine::Parameter| match &one.value {
            Some(value) => format!("{name}={value}"),
            None => name.to_owned(),
        };
        line.all(name).map(text).collect()
    };
    for name in names(old).union(&names(new)) {
        let (was, is) = (values(old, name), values(new, name));
        if was == is {
            continue;
        }
        let isolates = ISOLATING.contains(&name.as_str());
        let (was, is) = (was.join(" "), is.join(" "));
        let (step, strong, message) = match (was.is_empty(), is.is_empty()) {
            (false, true) => (ValueChange::lost(&was), Level::Error, format!("boot line lost {was}")),
            (true, _) => (
                ValueChange::gained(&is),
                Level::Warning,
                format!("boot line gained {is}"),
            ),
            _ => (
                ValueChange::new(&was, &is),
                Level::Error,
                format!("boot line: {was} -> {is}"),
            ),
        };
        let level = if isolates { strong } else { Level::Info };
        pair.add(FindingId::BOOT_LINE, level, name, step, message);
    }
}
