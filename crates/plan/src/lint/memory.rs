//! Rules about memory and the preemption model: values that do not mean what they appear to mean.

use super::repair::Edit;
use super::{Hit, Rule};
use crate::Level::{Error, Info, Warning};

pub(super) const HUGEPAGES_ORDER: Rule = Rule {
    id: "hugepages-order",
    level: Warning,
    truth: "hugepages= counts pages of the size named in front of it; without hugepagesz= in front it means the default size",
    fix: "write hugepagesz= in front of its hugepages=",
    check: |line| {
        let first = |name| line.all(name).next();
        let (Some((size, _)), Some((count, word))) = (first("hugepagesz"), first("hugepages")) else {
            return Vec::new();
        };
        (count < size).then(|| Hit::on(word.raw)).into_iter().collect()
    },
};

pub(super) const NUMA_VALUE: Rule = Rule {
    id: "numa-balancing-value",
    level: Warning,
    truth: "numa_balancing= takes enable or disable; another value is not understood and changes nothing",
    fix: "numa_balancing=disable, or kernel.numa_balancing at run time",
    check: |line| {
        let Some((place, word)) = line.last("numa_balancing") else {
            return Vec::new();
        };
        let hit = || Hit::on(word.raw);
        match word.value() {
            "enable" | "disable" => Vec::new(),
            "0" | "off" | "no" => vec![hit().edit(Edit::Set(place, "numa_balancing=disable".to_owned()))],
            _ => vec![hit()],
        }
    },
};

pub(super) const THP_VALUE: Rule = Rule {
    id: "transparent-hugepage-value",
    level: Warning,
    truth: "transparent_hugepage= takes always, madvise or never; another value is not understood",
    fix: "transparent_hugepage=never or madvise",
    check: |line| {
        let found = line.last("transparent_hugepage");
        let wrong = found.filter(|(_, word)| !["always", "madvise", "never"].contains(&word.value()));
        wrong.map(|(_, word)| Hit::on(word.raw)).into_iter().collect()
    },
};

pub(super) const PREEMPT_IGNORED: Rule = Rule {
    id: "preempt-ignored",
    level: Warning,
    truth: "preempt= works on kernels with CONFIG_PREEMPT_DYNAMIC (5.12 and later) and not on PREEMPT_RT",
    fix: "take it out",
    check: |line| {
        let Some((_, word)) = line.last("preempt") else {
            return Vec::new();
        };
        let dynamic = line.facts.has("CONFIG_PREEMPT_DYNAMIC");
        let ignored = line.facts.realtime == Some(true)
            || dynamic == Some(false)
            || line.facts.since((5, 12)) == Some(false);
        match (ignored, dynamic) {
            (true, _) => vec![Hit::on(word.raw)],
            (false, None) => vec![
                Hit::on(word.raw)
                    .at(Info)
                    .because("this kernel's configuration is not known here")
                    .fix("give its configuration with --config FILE"),
            ],
            (false, Some(_)) => Vec::new(),
        }
    },
};

pub(super) const PREEMPT_VALUE: Rule = Rule {
    id: "preempt-value",
    level: Error,
    truth: "preempt= takes none, voluntary, full, and lazy from 6.13 on",
    fix: "write one of them",
    check: |line| {
        let Some((place, word)) = line.last("preempt") else {
            return Vec::new();
        };
        let known = match word.value() {
            "none" | "voluntary" | "full" => true,
            "lazy" => line.facts.since((6, 13)) != Some(false),
            _ => false,
        };
        (!known)
            .then(|| Hit::on(word.raw).drop([place]))
            .into_iter()
            .collect()
    },
};
