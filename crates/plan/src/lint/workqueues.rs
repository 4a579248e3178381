//! Rules about parameters that place threads: of the kernel, of its workqueues, of systemd.

use super::Check::Last;
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::CpuSet;

pub(super) const KTHREAD_CPUS: LintRule = rule(
    "kthread-cpus-unknown",
    Warning,
    "kthread_cpus= is not a parameter of the mainline kernel (StarlingX, Wind River and Ubuntu's real-time kernel add \
     it with a patch); others pass it to init",
    "remove it; quietcore apply moves kernel threads at run time",
    Last("kthread_cpus", |line, _, word| {
        let release = line.facts.release.as_deref().unwrap_or_default();
        let patched = release.contains("realtime") || release.contains("-yocto") || release.contains("wrs");
        let level = if line.facts.release.is_some() { Warning } else { Info };
        (!patched).then(|| word.hit().at(level))
    }),
);

pub(super) const TOO_NEW: LintRule = rule(
    "workqueue-unbound-cpus-too-new",
    Error,
    "workqueue.unbound_cpus= needs kernel 6.6; older kernels ignore it",
    "write /sys/devices/virtual/workqueue/cpumask at run time",
    Last("workqueue.unbound_cpus", |line, place, word| {
        let level = line.before((6, 6))?;
        let drop = (level == Error).then_some(place);
        Some(word.hit().at(level).drop(drop))
    }),
);

pub(super) const ON_ISOLATED: LintRule = rule(
    "workqueue-on-isolated",
    Error,
    "workqueue.unbound_cpus= names the CPUs that unbound kernel work may use, and some of them are isolated",
    "write the housekeeping CPUs",
    Last("workqueue.unbound_cpus", |line, place, word| {
        let cpus = line.cpus("workqueue.unbound_cpus")?;
        let isolated = line.undisturbed();
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
    Last("systemd.cpu_affinity", |line, place, word| {
        // systemd accepts commas and blanks (`parse_cpu_set`), but no strides.
        let list: Vec<&str> = word.value().split_whitespace().collect();
        let cpus = CpuSet::parse_list(&list.join(",")).ok()?;
        let (both, rest) = line.isolated_among(&cpus)?;
        let edit = (!rest.is_empty()).then(|| LineEdit::Set(place, format!("systemd.cpu_affinity={rest}")));
        Some(word.hit().because(format!("CPU {both} is isolated")).edits(edit))
    }),
);
