//! Rules about idle states and frequency.

use super::Check::{Last, One, Words};
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Info, Warning};

pub(super) const IDLE_POLL: LintRule = rule(
    "idle-poll",
    Warning,
    "idle=poll lets every CPU spin when idle: heat, less turbo, and a sibling thread that steals the core",
    "forbid deep idle on the isolated CPUs only: cpuN/power/pm_qos_resume_latency_us",
    Words(&[("idle", &["poll"]), ("nohlt", &[])]),
);

pub(super) const IDLE_FALLS_BACK: LintRule = rule(
    "intel-idle-falls-back",
    Info,
    "intel_idle.max_cstate=0 does not forbid idle states: it switches the driver off and acpi_idle takes over",
    "add processor.max_cstate=1, or better, limit the isolated CPUs only at run time",
    One(|line| {
        let found = line.is("intel_idle.max_cstate", &["0"]);
        let limited = line.has("processor.max_cstate") || line.is("idle", &["poll", "halt"]).is_some();
        let limited = limited || line.is("cpuidle.off", &["1"]).is_some();
        found.filter(|_| !limited).map(|(_, word)| word.hit())
    }),
);

pub(super) const CSTATE_ZERO: LintRule = rule(
    "max-cstate-zero",
    Info,
    "processor.max_cstate=0 means 1: C1 stays allowed",
    "write 1, so that the line says what happens",
    Words(&[("processor.max_cstate", &["0"])]),
);

pub(super) const PSTATE_OFF: LintRule = rule(
    "pstate-driver-off",
    Info,
    "switching the processor's own frequency driver off is old advice; the governor `performance` with the driver in place normally does better",
    "take it out and set scaling_governor to performance",
    Words(&[("intel_pstate", &["disable"]), ("amd_pstate", &["disable"])]),
);

pub(super) const ASPM: LintRule = rule(
    "pcie-aspm-off",
    Info,
    "pcie_aspm=off does not switch link power saving off: it leaves it as the firmware set it",
    "pcie_aspm.policy=performance",
    Words(&[("pcie_aspm", &["off"])]),
);

pub(super) const ASPM_VALUE: LintRule = rule(
    "pcie-aspm-value",
    Warning,
    "pcie_aspm= takes off or force; another value is not understood and changes nothing",
    "pcie_aspm.policy=performance sets the policy",
    Last("pcie_aspm", |_, place, word| match word.value() {
        "off" | "force" => None,
        value @ ("default" | "performance" | "powersave" | "powersupersave") => {
            let edit = LineEdit::Set(place, format!("pcie_aspm.policy={value}"));
            Some(word.hit().edit(edit))
        }
        _ => Some(word.hit()),
    }),
);
