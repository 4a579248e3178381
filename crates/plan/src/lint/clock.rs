//! Rules about clock sources.

use super::Check::{One, Words};
use super::{LintRule, rule};
use crate::Level::{Info, Warning};

pub(super) const TSC_RELIABLE: LintRule = rule(
    "tsc-reliable",
    Warning,
    "tsc=reliable disables every check of the time-stamp counter, so drift is not noticed; kernels stop checking by \
     themselves if the processor guarantees stability",
    "leave it out unless the timer clocksource_watchdog runs on an isolated CPU; then prefer tsc=nowatchdog",
    One(|line| {
        let trusted = line.facts.clocksource.as_deref().is_none_or(|source| source == "tsc");
        let level = if trusted { Info } else { Warning };
        let found = line.is("tsc", &["reliable"]);
        found.map(|(_, word)| match &line.facts.clocksource {
            Some(source) if !trusted => word
                .hit()
                .at(level)
                .because(format!("this machine uses the clock source {source}")),
            _ => word.hit().at(level),
        })
    }),
);

pub(super) const SLOW_CLOCK: LintRule = rule(
    "slow-clocksource",
    Warning,
    "with this clock source every time query is a system call and a slow device access",
    "remove it: the kernel chooses the fastest reliable clock source",
    Words(&[("clocksource", &["hpet", "acpi_pm", "pit", "jiffies"])]),
);

pub(super) const NO_TSC: LintRule = rule(
    "notsc",
    Warning,
    "without the time-stamp counter the kernel uses a slow clock",
    "remove it",
    Words(&[("notsc", &[])]),
);
