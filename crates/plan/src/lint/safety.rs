//! Rules about parameters that reduce safety or security.

use super::Check::{Dropped, Each, Words};
use super::line::KnownWord;
use super::{LintRule, rule};
use crate::Level::{Info, Warning};

pub(super) const MCE_OFF: LintRule = rule(
    "mce-off",
    Warning,
    "with mce=off an uncorrected memory error resets the machine without a trace, and corrected errors are not \
     noticed; it has no advantage over stopping the poll",
    "remove it; mce=ignore_ce, or machinecheck0/check_interval 0 at run time, stops the poll",
    Dropped(&[("mce", &["off"]), ("nomce", &[])]),
);

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

pub(super) const MITIGATIONS_OFF: LintRule = rule(
    "mitigations-off",
    Warning,
    "it opens known vulnerabilities of the processor to make system calls cheaper; a program that does not enter the \
     kernel gains nothing",
    "remove it unless every program on the machine is trusted",
    Words(MITIGATIONS),
);

const WATCHDOGS: &[KnownWord] = &[("nowatchdog", &[]), ("nosoftlockup", &[]), ("nmi_watchdog", &["0"])];

pub(super) const WATCHDOGS_OFF: LintRule = rule(
    "watchdog-off",
    Info,
    "a hung CPU is no longer noticed, including housekeeping CPUs; nohz_full CPUs have no watchdog anyway",
    "set kernel.watchdog_cpumask to the housekeeping CPUs instead",
    Words(WATCHDOGS),
);

pub(super) const WATCHDOGS_TWICE: LintRule = rule(
    "watchdogs-redundant",
    Info,
    "nowatchdog covers nosoftlockup and nmi_watchdog=0",
    "keep nowatchdog alone",
    Each(|line| {
        let others = line
            .found(WATCHDOGS)
            .filter(|(_, word)| line.has("nowatchdog") && word.name() != "nowatchdog");
        others.map(|(_, word)| word.hit()).collect()
    }),
);

pub(super) const AUDIT_OFF: LintRule = rule(
    "audit-off",
    Info,
    "no audit records until the next boot: cheaper system calls, but no record",
    "",
    Words(&[("audit", &["0", "off"])]),
);
