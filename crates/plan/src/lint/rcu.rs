//! Rules about RCU: what runs its callbacks, and what makes it interrupt other CPUs.

use super::Check::{Each, One};
use super::line::parse_cpus;
use super::{LintHit, LintRule};
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
            Some(false) => Some(LintHit::on(word.raw).drop(line.places("rcu_nocbs"))),
            None => Some(
                LintHit::on(word.raw)
                    .at(Info)
                    .because("whether this kernel has CONFIG_RCU_NOCB_CPU is not known here")
                    .fix("give its configuration with --config FILE"),
            ),
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
        redundant.then(|| LintHit::on(word.raw))
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
        misses.then(|| LintHit::on(word.raw).because(format!("isolated are {isolated}")))
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
            let hit = LintHit::on(word.raw).at(level);
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
        found.map(|(_, word)| LintHit::on(word.raw))
    }),
};

pub(super) const EXPEDITED: LintRule = LintRule {
    id: "rcu-expedited",
    level: Warning,
    truth: "expedited grace periods interrupt every CPU that is in the kernel: more IPIs, the opposite of isolation",
    fix: "remove it; rcupdate.rcu_normal_after_boot=1 does the opposite",
    check: One(|line| {
        let found = line.is("rcupdate.rcu_expedited", TRUE);
        found.map(|(place, word)| LintHit::on(word.raw).drop([place]))
    }),
};

pub(super) const STALLS_HIDDEN: LintRule = LintRule {
    id: "rcu-stalls-hidden",
    level: Info,
    truth: "without stall warnings a CPU that starves the kernel's own threads is noticed late",
    fix: "",
    check: One(|line| {
        let found = line.is("rcupdate.rcu_cpu_stall_suppress", TRUE);
        found.map(|(_, word)| LintHit::on(word.raw))
    }),
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
        let words = line
            .last("threadirqs")
            .into_iter()
            .chain(line.is("rcupdate.rcu_normal_after_boot", TRUE))
            .chain(line.is("rcutree.use_softirq", &["0", "n"]));
        words.map(|(_, word)| LintHit::on(word.raw)).collect()
    }),
};
