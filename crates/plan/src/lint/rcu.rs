//! Rules about RCU: what runs its callbacks, and what makes it interrupt other CPUs.

use super::Check::{Dropped, Each, Last, Words};
use super::line::parse_cpus;
use super::{LintRule, rule};
use crate::Level::{Error, Info, Warning};

const TRUE: &[&str] = &["1", "y", "Y", "on", "yes", ""];

pub(super) const UNSUPPORTED: LintRule = rule(
    "rcu-nocbs-unsupported",
    Error,
    "without CONFIG_RCU_NOCB_CPU the kernel ignores rcu_nocbs= and RCU callbacks stay",
    "use a kernel with CONFIG_RCU_NOCB_CPU=y, or remove the parameter",
    Last("rcu_nocbs", |line, _, word| {
        match line.facts.has("CONFIG_RCU_NOCB_CPU") {
            Some(true) => None,
            Some(false) => Some(word.hit().drop(line.places("rcu_nocbs"))),
            None => Some(word.hit().unknown_option("CONFIG_RCU_NOCB_CPU")),
        }
    }),
);

pub(super) const REDUNDANT: LintRule = rule(
    "rcu-nocbs-redundant",
    Info,
    "nohz_full= offloads the RCU callbacks of its CPUs by itself",
    "rcu_nocbs= is not needed; it does no harm",
    Last("rcu_nocbs", |line, _, word| {
        let redundant = parse_cpus(word.value(), line.facts).is_ok_and(|cpus| {
            !cpus.is_empty() && cpus.is_subset(&line.nohz_full) && line.facts.has("CONFIG_NO_HZ_FULL") != Some(false)
        });
        redundant.then(|| word.hit())
    }),
);

pub(super) const ELSEWHERE: LintRule = rule(
    "rcu-nocbs-elsewhere",
    Warning,
    "rcu_nocbs= names the CPUs whose callbacks run elsewhere, so it needs the isolated CPUs and not the others",
    "write the isolated CPUs",
    Last("rcu_nocbs", |line, _, word| {
        let cpus = line.cpus("rcu_nocbs")?;
        let isolated = line.undisturbed();
        let misses = !isolated.is_empty() && !cpus.is_empty() && !cpus.intersects(&isolated);
        misses.then(|| word.hit().because(format!("the isolated CPUs are {isolated}")))
    }),
);

pub(super) const BARE_TOO_NEW: LintRule = rule(
    "rcu-nocbs-bare",
    Error,
    "rcu_nocbs without a list offloads no CPU, and kernels before 5.17 do not accept this form",
    "write rcu_nocbs=CPUS, or remove it",
    Each(|line| {
        let bare = line.all("rcu_nocbs").filter(|(_, word)| word.parameter.value.is_none());
        let level = line.before((5, 17)).unwrap_or(Info);
        let drop = |place| (level == Error).then_some(place);
        bare.map(|(place, word)| word.hit().at(level).drop(drop(place)))
            .collect()
    }),
);

pub(super) const POLL_IDLE: LintRule = rule(
    "rcu-nocb-poll-idle",
    Info,
    "rcu_nocb_poll has no effect if no CPU offloads its callbacks",
    "add rcu_nocbs=CPUS or nohz_full=CPUS, or remove it",
    Last("rcu_nocb_poll", |line, _, word| {
        let offloads = !line.nohz_full.is_empty() || (line.has("rcu_nocbs") && !line.is_empty_list("rcu_nocbs"));
        (!offloads).then(|| word.hit())
    }),
);

pub(super) const EXPEDITED: LintRule = rule(
    "rcu-expedited",
    Warning,
    "expedited grace periods interrupt every CPU that is in the kernel: more IPIs, the opposite of isolation",
    "remove it; rcupdate.rcu_normal_after_boot=1 does the opposite",
    Dropped(&[("rcupdate.rcu_expedited", TRUE)]),
);

pub(super) const STALLS_HIDDEN: LintRule = rule(
    "rcu-stalls-hidden",
    Info,
    "without stall warnings, a CPU that starves the kernel's own threads is noticed late",
    "",
    Words(&[("rcupdate.rcu_cpu_stall_suppress", TRUE)]),
);

pub(super) const RT_DOES_IT: LintRule = rule(
    "realtime-does-it",
    Info,
    "a PREEMPT_RT kernel does this by itself",
    "it is not needed; it does no harm",
    Each(|line| {
        if line.facts.realtime != Some(true) {
            return Vec::new();
        }
        line.found(&[
            ("threadirqs", &[]),
            ("rcupdate.rcu_normal_after_boot", TRUE),
            ("rcutree.use_softirq", &["0", "n"]),
        ])
        .map(|(_, word)| word.hit())
        .collect()
    }),
);
