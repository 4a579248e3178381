//! Rules about clock sources.

use super::Check::{One, Words};
use super::{LintRule, rule};
use crate::Level::{Info, Warning};

pub(super) const TSC_RELIABLE: LintRule = rule(
    "tsc-reliable",
    Warning,
    "tsc=reliable switches off every check of the time-stamp counter, so a drifting one is not noticed; kernels stop checking by themselves where the processor guarantees it",
    "leave it out unless the timer clocksource_watchdog is seen on an isolated CPU; then prefer tsc=nowatchdog",
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
    "with this clock source every look at the clock is a system call and a slow device access",
    "take it out: the kernel chooses the fastest clock source that is sound",
    Words(&[("clocksource", &["hpet", "acpi_pm", "pit", "jiffies"])]),
);

pub(super) const NO_TSC: LintRule = rule(
    "notsc",
    Warning,
    "without the time-stamp counter the kernel falls back to a slow clock",
    "remove it",
    Words(&[("notsc", &[])]),
);
