//! Rules about parameters of control groups, which isolation at run time depends on.

use super::Check::{Each, Words};
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Error, Info};

pub(super) const CPUSET_OFF: LintRule = rule(
    "cpuset-disabled",
    Error,
    "without the cpuset controller nothing can be isolated at run time",
    "remove cpuset from cgroup_disable=",
    Each(|line| {
        line.all("cgroup_disable")
            .filter(|(_, word)| word.value().split(',').any(|part| part == "cpuset"))
            .map(|(place, word)| {
                let rest: Vec<&str> = word.value().split(',').filter(|part| *part != "cpuset").collect();
                let edit = if rest.is_empty() {
                    LineEdit::Drop(place)
                } else {
                    LineEdit::Set(place, format!("cgroup_disable={}", rest.join(",")))
                };
                word.hit().edit(edit)
            })
            .collect()
    }),
);

pub(super) const CGROUP_V1: LintRule = rule(
    "cgroup-v1-asked",
    Info,
    "systemd 258 and later start with cgroup v2 only and ignore this; kernels without CONFIG_CPUSETS_V1 have no v1 cpuset at all",
    "switch to cgroup v2",
    Words(&[("systemd.unified_cgroup_hierarchy", &["0", "no", "false", "off"])]),
);

pub(super) const ENABLE_WORDS: LintRule = rule(
    "cgroup-enable-words",
    Info,
    "cgroup_enable= is a parameter of old Debian and Raspberry Pi kernels; elsewhere the controllers are enabled \
     without it",
    "",
    Each(|line| {
        let words = line.all("cgroup_enable");
        words
            .filter(|(_, word)| word.value() != "memory" && word.value() != "pressure")
            .map(|(_, word)| word.hit())
            .collect()
    }),
);
