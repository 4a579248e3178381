//! Rules about RCU: what runs its callbacks, and what makes it interrupt other CPUs.

use super::Check::{Dropped, Each, One, Words};
use super::LintRule;
use super::line::parse_cpus;
use crate::Level::{Error, Info, Warning};

const TRUE: &[&str] = &["1", "y", "Y", "on", "yes", ""];

pub(super) const UNSUPPORTED: LintRule = LintRule {
    id: "rcu-nocbs-unsupported",
    level: Error,
    truth: "without CONFIG_RCU_NOCB_CPU the kernel does not know rcu_nocbs= and RCU callbacks stay",
    fix: "use a kernel with CONFIG_RCU_NOCB_CPU=y, or take the parameter out",
    check: One(|line| {
        let (_, word) = line.last("rcu_nocbs")?;
        match line.facts.has("CONFIG_RCU_NOCB_CPU") {
            Some(true) => None,
            Some(false) => Some(word.hit().drop(line.places("rcu_nocbs"))),
            None => Some(word.hit().unknown_option("CONFIG_RCU_NOCB_CPU")),
        }
    }),
};

pub(super) const REDUNDANT: LintRule = LintRule {
    id: "rcu-nocbs-redundant",
    level: Info,
    truth: "nohz_full= offloads the RCU callbacks of its CPUs by itself",
    fix: "rcu_nocbs= can go; it does no harm",
    check: One(|line| {
        let (_, word) = line.last("rcu_nocbs")?;
        let redundant = parse_cpus(word.value(), line.facts).is_ok_and(|cpus| {
            !cpus.is_empty() && cpus.is_subset(&line.nohz_full) && line.facts.has("CONFIG_NO_HZ_FULL") != Some(false)
        });
        redundant.then(|| word.hit())
    }),
};

pub(super) const ELSEWHERE: LintRule = LintRule {
    id: "rcu-nocbs-elsewhere",
    level: Warning,
    truth: "rcu_nocbs= names the CPUs that give their callbacks away, so it wants the isolated CPUs and not the others",
    fix: "write the isolated CPUs",
    check: One(|line| {
        let (_, word) = line.last("rcu_nocbs")?;
        let cpus = line.cpus("rcu_nocbs")?;
        let isolated = line.domain.or(&line.tickless());
        let misses = !isolated.is_empty() && !cpus.is_empty() && !cpus.intersects(&isolated);
        misses.then(|| word.hit().because(format!("isolated are {isolated}")))
    }),
};

pub(super) const BARE_TOO_NEW: LintRule = LintRule {
    id: "rcu-nocbs-bare",
    level: Error,
    truth: "rcu_nocbs without a list offloads no CPU, and kernels before 5.17 do not know it so",
    fix: "write rcu_nocbs=CPUS, or take it out",
    check: Each(|line| {
        let bare = line.all("rcu_nocbs").filter(|(_, word)| word.parameter.value.is_none());
        let level = match line.facts.since((5, 17)) {
            Some(false) => Error,
            Some(true) | None => Info,
        };
        bare.map(|(place, word)| {
            let hit = word.hit().at(level);
            if level == Error { hit.drop([place]) } else { hit }
        })
        .collect()
    }),
};

pub(super) const POLL_IDLE: LintRule = LintRule {
    id: "rcu-nocb-poll-idle",
    level: Info,
    truth: "rcu_nocb_poll does nothing where no CPU gives its callbacks away",
    fix: "add rcu_nocbs=CPUS or nohz_full=CPUS, or take it out",
    check: One(|line| {
        let offloads = !line.nohz_full.is_empty() || (line.has("rcu_nocbs") && !line.is_empty_list("rcu_nocbs"));
        let found = line.last("rcu_nocb_poll").filter(|_| !offloads);
        found.map(|(_, word)| word.hit())
    }),
};

pub(super) const EXPEDITED: LintRule = LintRule {
    id: "rcu-expedited",
    level: Warning,
    truth: "expedited grace periods interrupt every CPU that is in the kernel: more IPIs, the opposite of isolation",
    fix: "remove it; rcupdate.rcu_normal_after_boot=1 does the opposite",
    check: Dropped(&[("rcupdate.rcu_expedited", TRUE)]),
};

pub(super) const STALLS_HIDDEN: LintRule = LintRule {
    id: "rcu-stalls-hidden",
    level: Info,
    truth: "without stall warnings a CPU that starves the kernel's own threads is noticed late",
    fix: "",
    check: Words(&[("rcupdate.rcu_cpu_stall_suppress", TRUE)]),
};

pub(super) const RT_DOES_IT: LintRule = LintRule {
    id: "realtime-does-it",
    level: Info,
    truth: "a PREEMPT_RT kernel does this by itself",
    fix: "it can go; it does no harm",
    check: Each(|line| {
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
};
