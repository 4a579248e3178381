//! Checks parameters whose effect is shown by one file, and isolating ones that no file shows.

use super::CheckAnswer;
use super::case::{ParameterCase, ParameterFamily};
use crate::change::chosen;
use machine::{Parameter, same_name};

pub(super) const FAMILY: ParameterFamily = ParameterFamily {
    names: &[
        "nohz",
        "skew_tick",
        "threadirqs",
        "kthread_cpus",
        "workqueue.power_efficient",
        "rcupdate.rcu_normal",
        "rcupdate.rcu_normal_after_boot",
        "rcupdate.rcu_expedited",
        "rcutree.use_softirq",
        "rcutree.kthread_prio",
        "rcutree.nohz_full_patience_delay",
        "rcutree.enable_rcu_lazy",
        "nowatchdog",
        "nosoftlockup",
        "nmi_watchdog",
        "transparent_hugepage",
        "numa_balancing",
        "clocksource",
        "nosmt",
        "cpuidle.governor",
    ],
    complaints: &[],
    defeated_by: &[],
    acceptance: |_| None,
    works,
};

/// A parameter, the file that shows it, and the expected content for each value that looks different there.
type VisibleParameter = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const FILE_EVIDENCE: &[VisibleParameter] = &[
    ("nowatchdog", "/proc/sys/kernel/watchdog", &[("", "0")]),
    ("nosoftlockup", "/proc/sys/kernel/soft_watchdog", &[("", "0")]),
    ("nmi_watchdog", "/proc/sys/kernel/nmi_watchdog", &[]),
    (
        "transparent_hugepage",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        &[],
    ),
    (
        "numa_balancing",
        "/proc/sys/kernel/numa_balancing",
        &[("enable", "1"), ("disable", "0")],
    ),
    (
        "clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        &[],
    ),
    (
        "nosmt",
        "/sys/devices/system/cpu/smt/control",
        &[("", "off"), ("force", "forceoff")],
    ),
    (
        "cpuidle.governor",
        "/sys/devices/system/cpu/cpuidle/current_governor",
        &[],
    ),
    ("rcupdate.rcu_normal", "/sys/kernel/rcu_normal", &[]),
    ("rcupdate.rcu_expedited", "/sys/kernel/rcu_expedited", &[]),
];

/// The files that show the words of a line.
pub fn paths<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    words.filter_map(|word| path(&Parameter::parse(word).name)).collect()
}

fn row(name: &str) -> Option<&'static VisibleParameter> {
    FILE_EVIDENCE.iter().find(|(own, ..)| same_name(own, name))
}

/// The file of a parameter; for a module's parameter, the module's parameter directory.
fn path(name: &str) -> Option<String> {
    let of_module = || {
        let plain = name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-'));
        let (module, parameter) = name.split_once('.').filter(|_| plain)?;
        let plain = !module.is_empty() && !parameter.is_empty() && !parameter.contains('.');
        // `/sys/module` spells every `-` as `_`.
        plain.then(|| {
            format!(
                "/sys/module/{}/parameters/{}",
                module.replace('-', "_"),
                parameter.replace('-', "_")
            )
        })
    };
    row(name).map(|(_, path, _)| (*path).to_owned()).or_else(of_module)
}

fn works(case: &ParameterCase) -> CheckAnswer {
    let nothing = || CheckAnswer::unseen("no file or counter shows its effect");
    let Some(path) = path(&case.parameter.name) else {
        return nothing();
    };
    let Some(text) = case.evidence.settings.get(&path) else {
        return match row(&case.parameter.name) {
            Some(_) => CheckAnswer::unknown(format!("{path} could not be read")),
            // Not every parameter of a module is readable.
            None => nothing(),
        };
    };
    let seen = chosen(text);
    let values = row(&case.parameter.name)
        .map(|(.., values)| *values)
        .unwrap_or_default();
    let known = values.iter().find(|(value, _)| *value == case.value());
    let intended = known.map_or(case.value(), |(_, shown)| *shown);
    let now = format!("{path} has `{seen}`");
    match same_value(intended, seen) {
        true => CheckAnswer::yes(now),
        false => CheckAnswer::no(format!(
            "{now}, and not `{intended}`: another program changed it after the boot, or the kernel never accepted it"
        )),
    }
}

/// Compares truth values as the kernel parses them: `1`, `y`, `on` (`lib/kstrtox.c`); a bare name is true.
fn same_value(intended: &str, seen: &str) -> bool {
    let truth = |text: &str| match text {
        "1" | "y" | "Y" | "on" | "" => Some(true),
        "0" | "n" | "N" | "off" => Some(false),
        _ => None,
    };
    intended == seen || (truth(intended).is_some() && truth(intended) == truth(seen))
}
