//! Rules about parameters that reduce safety or security.

use super::Check::{Each, One};
use super::line::LintedLine;
use super::{LintHit, LintRule};
use crate::Level::{Info, Warning};

pub(super) const MCE_OFF: LintRule = LintRule {
    id: "mce-off",
    level: Warning,
    truth: "mce=off leaves an uncorrected memory error to reset the machine without a trace, and corrected ones unseen; it gains nothing over stopping the poll",
    fix: "remove it; mce=ignore_ce, or machinecheck0/check_interval 0 at run time, stops the poll",
    check: Each(|line| {
        let words = line.is("mce", &["off"]).into_iter().chain(line.last("nomce"));
        words.map(|(place, word)| LintHit::on(word.raw).drop([place])).collect()
    }),
};

const MITIGATIONS: &[(&str, &[&str])] = &[
    ("mitigations", &["off"]),
    ("spectre_v2", &["off"]),
    ("spec_store_bypass_disable", &["off"]),
    ("l1tf", &["off"]),
    ("mds", &["off"]),
    ("tsx_async_abort", &["off"]),
    ("retbleed", &["off"]),
    ("mmio_stale_data", &["off"]),
    ("srbds", &["off"]),
    ("pti", &["off"]),
    ("kpti", &["off", "0"]),
    ("nopti", &[""]),
    ("nospectre_v1", &[""]),
    ("nospectre_v2", &[""]),
    ("nospec_store_bypass_disable", &[""]),
    ("spectre_bhi", &["off"]),
    ("gather_data_sampling", &["off"]),
];

pub(super) const MITIGATIONS_OFF: LintRule = LintRule {
    id: "mitigations-off",
    level: Warning,
    truth: "it opens known holes of the processor to make system calls cheaper; a program that does not enter the kernel gains nothing",
    fix: "remove it unless every program on the machine is trusted",
    check: Each(|line| {
        let found = MITIGATIONS.iter().filter_map(|(name, values)| line.is(name, values));
        found.map(|(_, word)| LintHit::on(word.raw)).collect()
    }),
};

fn watchdogs<'a>(line: &'a LintedLine) -> Vec<(usize, &'a super::line::BootWord<'a>)> {
    line.last("nowatchdog")
        .into_iter()
        .chain(line.last("nosoftlockup"))
        .chain(line.is("nmi_watchdog", &["0"]))
        .collect()
}

pub(super) const WATCHDOGS_OFF: LintRule = LintRule {
    id: "watchdog-off",
    level: Info,
    truth: "a hung CPU is not noticed any more, on the housekeeping CPUs either; nohz_full CPUs are without watchdog anyway",
    fix: "set kernel.watchdog_cpumask to the housekeeping CPUs instead",
    check: Each(|line| {
        watchdogs(line)
            .into_iter()
            .map(|(_, word)| LintHit::on(word.raw))
            .collect()
    }),
};

pub(super) const WATCHDOGS_TWICE: LintRule = LintRule {
    id: "watchdogs-redundant",
    level: Info,
    truth: "nowatchdog covers nosoftlockup and nmi_watchdog=0",
    fix: "keep nowatchdog alone",
    check: Each(|line| {
        let all = watchdogs(line);
        let twice = all.len() > 1 && line.has("nowatchdog");
        let others = all.into_iter().filter(|(_, word)| twice && word.name() != "nowatchdog");
        others.map(|(_, word)| LintHit::on(word.raw)).collect()
    }),
};

pub(super) const AUDIT_OFF: LintRule = LintRule {
    id: "audit-off",
    level: Info,
    truth: "no audit records until the next boot: cheaper system calls at the price of the record",
    fix: "",
    check: One(|line| {
        let found = line.is("audit", &["0", "off"]);
        found.map(|(_, word)| LintHit::on(word.raw))
    }),
};
