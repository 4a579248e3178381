//! Rules about idle states and frequency.

use super::Check::{Last, One, Words};
use super::repair::LineEdit;
use super::{LintRule, rule};
use crate::Level::{Info, Warning};

pub(super) const IDLE_POLL: LintRule = rule(
    "idle-poll",
    Warning,
    "with idle=poll every idle CPU spins: heat, less turbo, and a sibling thread that takes time from the core",
    "disable deep idle states on the isolated CPUs only: cpuN/power/pm_qos_resume_latency_us",
    Words(&[("idle", &["poll"]), ("nohlt", &[])]),
);

pub(super) const IDLE_FALLS_BACK: LintRule = rule(
    "intel-idle-falls-back",
    Info,
    "intel_idle.max_cstate=0 does not disable idle states: it disables the driver, and acpi_idle is used instead",
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
    "write 1, so that the line states the real effect",
    Words(&[("processor.max_cstate", &["0"])]),
);

pub(super) const PSTATE_OFF: LintRule = rule(
    "pstate-driver-off",
    Info,
    "disabling the processor's own frequency driver is outdated advice; the governor `performance` with the driver in \
     place normally works better",
    "remove it and set scaling_governor to performance",
    Words(&[("intel_pstate", &["disable"]), ("amd_pstate", &["disable"])]),
);

pub(super) const ASPM: LintRule = rule(
    "pcie-aspm-off",
    Info,
    "pcie_aspm=off does not disable link power saving: it keeps the setting of the firmware",
    "pcie_aspm.policy=performance",
    Words(&[("pcie_aspm", &["off"])]),
);

pub(super) const ASPM_VALUE: LintRule = rule(
    "pcie-aspm-value",
    Warning,
    "pcie_aspm= accepts off or force; another value changes nothing",
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
