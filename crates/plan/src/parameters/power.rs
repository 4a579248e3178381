//! Clocks, idle states, frequency, threads of a core.

use super::{ParameterCost, ParameterRow, row};

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "tsc",
        "=reliable|nowatchdog|unstable|watchdog|recalibrate",
        "tells how far the time-stamp counter can be trusted (x86)",
        "the check runs twice a second on every CPU in turn; modern processors do without, then nothing has to be set",
    )
    .price(ParameterCost::Safety),
    row(
        "notsc",
        "",
        "does without the time-stamp counter (x86)",
        "every look at the clock becomes slow",
    ),
    row(
        "clocksource",
        "=NAME",
        "chooses the clock",
        "a slow one makes every look at the clock a system call",
    )
    .twin("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    row(
        "hpet",
        "=disable|force",
        "switches the HPET timer off or on (x86)",
        "hardly any; it is not used where the TSC is sound",
    ),
    row(
        "highres",
        "=on|off",
        "high-resolution timers",
        "off makes every timer wait for a tick",
    ),
    row(
        "idle",
        "=poll|halt|nomwait|wfi|yield|nop",
        "how a CPU waits when idle",
        "poll wakes fastest but all CPUs spin, which heats, and hurts sibling threads",
    )
    .twin("/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us, for single CPUs")
    .price(ParameterCost::Power),
    row("nohlt", "", "lets idle CPUs spin (arm)", "as idle=poll")
        .twin("/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable")
        .price(ParameterCost::Power),
    row(
        "processor.max_cstate",
        "=NUMBER",
        "deepest idle state of the driver acpi_idle (x86)",
        "deep states take long to leave; the limit is for all CPUs",
    )
    .twin("/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us, for single CPUs")
    .price(ParameterCost::Power),
    row(
        "intel_idle.max_cstate",
        "=NUMBER",
        "deepest idle state of the driver intel_idle; 0 hands over to acpi_idle",
        "deep states take long to leave; the limit is for all CPUs",
    )
    .twin("/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us, for single CPUs")
    .price(ParameterCost::Power),
    row(
        "cpuidle.off",
        "=1",
        "does without idle drivers",
        "what remains is the shallow default state",
    )
    .twin("/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable")
    .price(ParameterCost::Power),
    row(
        "cpuidle.governor",
        "=NAME",
        "who chooses idle states",
        "matters only where deep states are allowed",
    )
    .twin("/sys/devices/system/cpu/cpuidle/current_governor"),
    row(
        "intel_pstate",
        "=disable|active|passive|...",
        "the frequency driver of Intel processors",
        "with the governor performance it normally does better than what replaces it",
    ),
    row(
        "amd_pstate",
        "=disable|active|passive|guided",
        "the frequency driver of AMD processors",
        "as intel_pstate",
    ),
    row(
        "cpufreq.default_governor",
        "=NAME",
        "who chooses the frequency",
        "performance avoids frequency changes in the middle of work",
    )
    .since("5.9")
    .twin("/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor"),
    row(
        "cpufreq.off",
        "=1",
        "does without frequency drivers",
        "the firmware's frequency stays",
    ),
    row(
        "nosmt",
        "[=force]",
        "uses one thread of every core",
        "no task shares a core with an isolated CPU; half of the CPUs are gone",
    )
    .twin("/sys/devices/system/cpu/smt/control")
    .price(ParameterCost::Speed),
    row(
        "maxcpus",
        "=NUMBER",
        "how many CPUs are brought up at boot",
        "isolated CPUs beyond it stay down",
    )
    .twin("/sys/devices/system/cpu/cpuN/online"),
    row(
        "nr_cpus",
        "=NUMBER",
        "how many CPUs there can be at all",
        "isolated CPUs beyond it do not exist",
    ),
    row("nosmp", "", "one CPU only", "nothing can be isolated"),
    row(
        "noapic",
        "",
        "does without I/O interrupt controllers (x86)",
        "interrupts cannot be moved to single CPUs",
    ),
    row(
        "nolapic",
        "",
        "does without the CPUs' interrupt controllers (x86)",
        "one CPU only",
    ),
    row(
        "pcie_aspm",
        "=off|force",
        "off leaves power saving of PCI Express links as the firmware set it",
        "does not switch it off, as many believe",
    )
    .twin("/sys/module/pcie_aspm/parameters/policy"),
    row(
        "pcie_aspm.policy",
        "=performance|default|...",
        "power saving of PCI Express links",
        "links that sleep add latency to device access",
    )
    .twin("/sys/module/pcie_aspm/parameters/policy")
    .price(ParameterCost::Power),
];
