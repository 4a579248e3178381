//! Rules about memory and the preemption model: values that do not mean what they appear to mean.

use super::Check::{Last, One};
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Error, Info, Warning};

pub(super) const HUGEPAGES_ORDER: LintRule = rule(
    "hugepages-order",
    Warning,
    "hugepages= counts pages of the size named before it; without hugepagesz= before it, it means the default size",
    "write hugepagesz= before its hugepages=",
    One(|line| {
        let first = |name| line.all(name).next();
        let (Some((size, _)), Some((count, word))) = (first("hugepagesz"), first("hugepages")) else {
            return None;
        };
        (count < size).then(|| word.hit())
    }),
);

pub(super) const NUMA_VALUE: LintRule = rule(
    "numa-balancing-value",
    Warning,
    "numa_balancing= accepts enable or disable; another value changes nothing",
    "numa_balancing=disable, or kernel.numa_balancing at run time",
    Last("numa_balancing", |_, place, word| match word.value() {
        "enable" | "disable" => None,
        "0" | "off" | "no" => {
            let edit = LineEdit::Set(place, "numa_balancing=disable".to_owned());
            Some(word.hit().edit(edit))
        }
        _ => Some(word.hit()),
    }),
);

pub(super) const THP_VALUE: LintRule = rule(
    "transparent-hugepage-value",
    Warning,
    "transparent_hugepage= accepts always, madvise or never; another value is ignored",
    "transparent_hugepage=never or madvise",
    Last("transparent_hugepage", |_, _, word| match word.value() {
        "always" | "madvise" | "never" => None,
        _ => Some(word.hit()),
    }),
);

pub(super) const PREEMPT_IGNORED: LintRule = rule(
    "preempt-ignored",
    Warning,
    "preempt= works on kernels with CONFIG_PREEMPT_DYNAMIC (5.12 and later) and not on PREEMPT_RT",
    "remove it",
    Last("preempt", |line, _, word| {
        let dynamic = line.facts.has("CONFIG_PREEMPT_DYNAMIC");
        let ignored =
            line.facts.realtime == Some(true) || dynamic == Some(false) || line.facts.since((5, 12)) == Some(false);
        match (ignored, dynamic) {
            (true, _) => Some(word.hit()),
            (false, None) => Some(
                word.hit()
                    .at(Info)
                    .because("this kernel's configuration is unknown")
                    .fix("pass its configuration with --kernel-config FILE"),
            ),
            (false, Some(_)) => None,
        }
    }),
);

pub(super) const PREEMPT_VALUE: LintRule = rule(
    "preempt-value",
    Error,
    "preempt= accepts none, voluntary, full, and lazy from 6.13 on",
    "write one of them",
    Last("preempt", |line, place, word| {
        let known = match word.value() {
            "none" | "voluntary" | "full" => true,
            "lazy" => line.facts.since((6, 13)) != Some(false),
            _ => false,
        };
        (!known).then(|| word.hit().drop([place]))
    }),
);
