//! Clocks, idle states, frequency, threads of a core.

use super::{ParameterCost, ParameterRow, row};

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "tsc",
        "=reliable|nowatchdog|unstable|watchdog|recalibrate",
        "sets how far the kernel trusts the time-stamp counter (x86)",
        "the check runs twice a second on every CPU in turn; modern processors do not need it, and then no setting is \
         needed",
    )
    .price(ParameterCost::Safety),
    row(
        "notsc",
        "",
        "does not use the time-stamp counter (x86)",
        "every time query becomes slow",
    ),
    row(
        "clocksource",
        "=NAME",
        "selects the clock source",
        "a slow one makes every time query a system call",
    )
    .twin("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    row(
        "hpet",
        "=disable|force",
        "disables or enables the HPET timer (x86)",
        "almost no effect; it is not used if the TSC is reliable",
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
        "poll wakes fastest, but all CPUs spin, which causes heat and slows sibling threads",
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
        "deep states take long to leave; the limit applies to all CPUs",
    )
    .twin("/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us, for single CPUs")
    .price(ParameterCost::Power),
    row(
        "intel_idle.max_cstate",
        "=NUMBER",
        "deepest idle state of the driver intel_idle; 0 uses acpi_idle instead",
        "deep states take long to leave; the limit applies to all CPUs",
    )
    .twin("/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us, for single CPUs")
    .price(ParameterCost::Power),
    row(
        "cpuidle.off",
        "=1",
        "uses no idle driver",
        "only the shallow default state remains",
    )
    .twin("/sys/devices/system/cpu/cpuN/cpuidle/stateM/disable")
    .price(ParameterCost::Power),
    row(
        "cpuidle.governor",
        "=NAME",
        "the governor that chooses idle states",
        "matters only if deep states are allowed",
    )
    .twin("/sys/devices/system/cpu/cpuidle/current_governor"),
    row(
        "intel_pstate",
        "=disable|active|passive|...",
        "the frequency driver of Intel processors",
        "with the governor performance it normally works better than its replacement",
    ),
    row(
        "amd_pstate",
        "=disable|active|passive|guided",
        "the frequency driver of AMD processors",
        "see intel_pstate",
    ),
    row(
        "cpufreq.default_governor",
        "=NAME",
        "the governor that chooses the frequency",
        "performance avoids frequency changes during work",
    )
    .since("5.9")
    .twin("/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor"),
    row(
        "cpufreq.off",
        "=1",
        "uses no frequency driver",
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
        "isolated CPUs above it stay offline",
    )
    .twin("/sys/devices/system/cpu/cpuN/online"),
    row(
        "nr_cpus",
        "=NUMBER",
        "the maximum number of CPUs",
        "isolated CPUs above it do not exist",
    ),
    row("nosmp", "", "one CPU only", "nothing can be isolated"),
    row(
        "noapic",
        "",
        "does not use I/O interrupt controllers (x86)",
        "interrupts cannot be moved to single CPUs",
    ),
    row(
        "nolapic",
        "",
        "does not use the CPUs' interrupt controllers (x86)",
        "one CPU only",
    ),
    row(
        "pcie_aspm",
        "=off|force",
        "off keeps power saving of PCI Express links as the firmware set it",
        "does not disable it, contrary to common belief",
    )
    .twin("/sys/module/pcie_aspm/parameters/policy"),
    row(
        "pcie_aspm.policy",
        "=performance|default|...",
        "power saving of PCI Express links",
        "sleeping links add latency to device access",
    )
    .twin("/sys/module/pcie_aspm/parameters/policy")
    .price(ParameterCost::Power),
];
