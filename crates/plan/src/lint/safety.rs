//! Rules about parameters that reduce safety or security.

use super::Check::{Dropped, Each, Words};
use super::LintRule;
use super::line::KnownWord;
use crate::Level::{Info, Warning};

pub(super) const MCE_OFF: LintRule = LintRule {
    id: "mce-off",
    level: Warning,
    truth: "mce=off leaves an uncorrected memory error to reset the machine without a trace, and corrected ones unseen; it gains nothing over stopping the poll",
    fix: "remove it; mce=ignore_ce, or machinecheck0/check_interval 0 at run time, stops the poll",
    check: Dropped(&[("mce", &["off"]), ("nomce", &[])]),
};

const MITIGATIONS: &[KnownWord] = &[
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
    check: Words(MITIGATIONS),
};

const WATCHDOGS: &[KnownWord] = &[("nowatchdog", &[]), ("nosoftlockup", &[]), ("nmi_watchdog", &["0"])];

pub(super) const WATCHDOGS_OFF: LintRule = LintRule {
    id: "watchdog-off",
    level: Info,
    truth: "a hung CPU is not noticed any more, on the housekeeping CPUs either; nohz_full CPUs are without watchdog anyway",
    fix: "set kernel.watchdog_cpumask to the housekeeping CPUs instead",
    check: Words(WATCHDOGS),
};

pub(super) const WATCHDOGS_TWICE: LintRule = LintRule {
    id: "watchdogs-redundant",
    level: Info,
    truth: "nowatchdog covers nosoftlockup and nmi_watchdog=0",
    fix: "keep nowatchdog alone",
    check: Each(|line| {
        let others = line
            .found(WATCHDOGS)
            .filter(|(_, word)| line.has("nowatchdog") && word.name() != "nowatchdog");
        others.map(|(_, word)| word.hit()).collect()
    }),
};

pub(super) const AUDIT_OFF: LintRule = LintRule {
    id: "audit-off",
    level: Info,
    truth: "no audit records until the next boot: cheaper system calls at the price of the record",
    fix: "",
    check: Words(&[("audit", &["0", "off"])]),
};
