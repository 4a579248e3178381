//! Rules about idle states and frequency.

use super::Check::{One, Words};
use super::LintRule;
use super::repair::LineEdit;
use crate::Level::{Info, Warning};

pub(super) const IDLE_POLL: LintRule = LintRule {
    id: "idle-poll",
    level: Warning,
    truth: "idle=poll lets every CPU spin when idle: heat, less turbo, and a sibling thread that steals the core",
    fix: "forbid deep idle on the isolated CPUs only: cpuN/power/pm_qos_resume_latency_us",
    check: Words(&[("idle", &["poll"]), ("nohlt", &[])]),
};

pub(super) const IDLE_FALLS_BACK: LintRule = LintRule {
    id: "intel-idle-falls-back",
    level: Info,
    truth: "intel_idle.max_cstate=0 does not forbid idle states: it switches the driver off and acpi_idle takes over",
    fix: "add processor.max_cstate=1, or better, limit the isolated CPUs only at run time",
    check: One(|line| {
        let found = line.is("intel_idle.max_cstate", &["0"]);
        let limited = line.has("processor.max_cstate") || line.is("idle", &["poll", "halt"]).is_some();
        let limited = limited || line.is("cpuidle.off", &["1"]).is_some();
        found.filter(|_| !limited).map(|(_, word)| word.hit())
    }),
};

pub(super) const CSTATE_ZERO: LintRule = LintRule {
    id: "max-cstate-zero",
    level: Info,
    truth: "processor.max_cstate=0 means 1: C1 stays allowed",
    fix: "write 1, so that the line says what happens",
    check: Words(&[("processor.max_cstate", &["0"])]),
};

pub(super) const PSTATE_OFF: LintRule = LintRule {
    id: "pstate-driver-off",
    level: Info,
    truth: "switching the processor's own frequency driver off is old advice; the governor `performance` with the driver in place normally does better",
    fix: "take it out and set scaling_governor to performance",
    check: Words(&[("intel_pstate", &["disable"]), ("amd_pstate", &["disable"])]),
};

pub(super) const ASPM: LintRule = LintRule {
    id: "pcie-aspm-off",
    level: Info,
    truth: "pcie_aspm=off does not switch link power saving off: it leaves it as the firmware set it",
    fix: "pcie_aspm.policy=performance",
    check: Words(&[("pcie_aspm", &["off"])]),
};

pub(super) const ASPM_VALUE: LintRule = LintRule {
    id: "pcie-aspm-value",
    level: Warning,
    truth: "pcie_aspm= takes off or force; another value is not understood and changes nothing",
    fix: "pcie_aspm.policy=performance sets the policy",
    check: One(|line| {
        let found = line.last("pcie_aspm");
        found
            .filter(|(_, word)| !["off", "force"].contains(&word.value()))
            .map(|(place, word)| match word.value() {
                "default" | "performance" | "powersave" | "powersupersave" => word
                    .hit()
                    .edit(LineEdit::Set(place, format!("pcie_aspm.policy={}", word.value()))),
                _ => word.hit(),
            })
    }),
};
