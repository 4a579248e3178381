//! Rules about parameters that place threads: of the kernel, of its workqueues, of systemd.

use super::Check::One;
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::CpuSet;

pub(super) const KTHREAD_CPUS: LintRule = rule(
    "kthread-cpus-unknown",
    Warning,
    "kthread_cpus= is no parameter of the mainline kernel (StarlingX, Wind River and Ubuntu's real-time kernel patch it in); others hand it to init",
    "take it out; quietcore apply moves kernel threads at run time",
    One(|line| {
        let release = line.facts.release.as_deref().unwrap_or_default();
        let patched = release.contains("realtime") || release.contains("-yocto") || release.contains("wrs");
        let level = if line.facts.release.is_some() { Warning } else { Info };
        let found = line.last("kthread_cpus").filter(|_| !patched);
        found.map(|(_, word)| word.hit().at(level))
    }),
);

pub(super) const TOO_NEW: LintRule = rule(
    "workqueue-unbound-cpus-too-new",
    Error,
    "workqueue.unbound_cpus= came with 6.6; older kernels ignore it",
    "write /sys/devices/virtual/workqueue/cpumask at run time",
    One(|line| {
        let level = line.before((6, 6))?;
        let found = line.last("workqueue.unbound_cpus");
        found.map(|(place, word)| {
            let hit = word.hit().at(level);
            if level == Error { hit.drop([place]) } else { hit }
        })
    }),
);

pub(super) const ON_ISOLATED: LintRule = rule(
    "workqueue-on-isolated",
    Error,
    "workqueue.unbound_cpus= names the CPUs that unbound kernel work may use, and some of them are isolated",
    "write the housekeeping CPUs",
    One(|line| {
        let (place, word) = line.last("workqueue.unbound_cpus")?;
        let cpus = line.cpus("workqueue.unbound_cpus")?;
        let isolated = line.domain.or(&line.tickless());
        if !cpus.intersects(&isolated) {
            return None;
        }
        let rest = cpus.minus(&isolated);
        Some(
            word.hit()
                .because(format!("CPU {} is isolated", cpus.and(&isolated)))
                .edit(LineEdit::list(place, "workqueue.unbound_cpus", &rest)),
        )
    }),
);

pub(super) const SYSTEMD_ON_ISOLATED: LintRule = rule(
    "systemd-affinity-on-isolated",
    Warning,
    "systemd.cpu_affinity= names the CPUs that systemd and all services run on, and some of them are isolated",
    "write the housekeeping CPUs",
    One(|line| {
        let (place, word) = line.last("systemd.cpu_affinity")?;
        // systemd accepts commas and blanks (`parse_cpu_set`), but no strides.
        let list: Vec<&str> = word.value().split_whitespace().collect();
        let cpus = CpuSet::parse_list(&list.join(",")).ok()?;
        let (both, rest) = line.isolated_among(&cpus)?;
        let hit = word.hit().because(format!("CPU {both} is isolated"));
        Some(if rest.is_empty() {
            hit
        } else {
            hit.edit(LineEdit::Set(place, format!("systemd.cpu_affinity={rest}")))
        })
    }),
);
