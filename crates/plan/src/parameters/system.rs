//! Safety, security, control groups, and words that programs read from the boot line.

use super::{ParameterCost, ParameterRow, row};

const HOLES: &str = "system calls become cheaper; a program that stays in user space gains nothing";

const fn hole(name: &'static str, form: &'static str) -> ParameterRow {
    row(name, form, "work-around for one hole of processors", HOLES).price(ParameterCost::Security)
}

const fn no_hole(name: &'static str) -> ParameterRow {
    row(name, "", "no work-around for one hole of processors", HOLES).price(ParameterCost::Security)
}

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "mce",
        "=off|ignore_ce|no_cmci|...",
        "how machine checks are handled (x86)",
        "ignore_ce stops the poll timer; off also hides fatal errors",
    )
    .twin("/sys/devices/system/machinecheck/machinecheck0/{check_interval,ignore_ce}")
    .price(ParameterCost::Safety)
    .many(),
    row(
        "nomce",
        "",
        "switches machine checks off (x86)",
        "hides even fatal errors, as mce=off does",
    )
    .price(ParameterCost::Safety),
    row(
        "nowatchdog",
        "",
        "switches both lockup detectors off",
        "no watchdog timer and no NMI, and no word about hung CPUs",
    )
    .twin("/proc/sys/kernel/watchdog_cpumask keeps the isolated CPUs out alone")
    .price(ParameterCost::Safety),
    row(
        "nosoftlockup",
        "",
        "switches the soft lockup detector off",
        "no watchdog timer and no wake-up of migration/N",
    )
    .twin("/proc/sys/kernel/watchdog_cpumask keeps the isolated CPUs out alone")
    .price(ParameterCost::Safety),
    row(
        "nmi_watchdog",
        "=0|1",
        "the hard lockup detector",
        "it costs a performance counter, and an NMI about every ten busy seconds",
    )
    .twin("/proc/sys/kernel/nmi_watchdog, or watchdog_cpumask for single CPUs")
    .price(ParameterCost::Safety),
    row(
        "audit",
        "=0|1",
        "the audit subsystem",
        "system calls are looked at when it is on",
    )
    .price(ParameterCost::Security),
    row(
        "mitigations",
        "=auto|off|auto,nosmt",
        "work-arounds for holes of processors",
        HOLES,
    )
    .price(ParameterCost::Security),
    hole("spectre_v2", "=on|off|..."),
    hole("spec_store_bypass_disable", "=on|off|..."),
    hole("l1tf", "=off|flush|..."),
    hole("mds", "=off|full"),
    hole("tsx_async_abort", "=off|full"),
    hole("retbleed", "=off|auto|..."),
    hole("mmio_stale_data", "=off|full"),
    hole("srbds", "=off|on"),
    hole("gather_data_sampling", "=off|force"),
    row("pti", "=on|off|auto", "page table isolation (x86)", HOLES).price(ParameterCost::Security),
    row("kpti", "=on|off", "page table isolation (arm64)", HOLES).price(ParameterCost::Security),
    row("nopti", "", "no page table isolation (x86)", HOLES).price(ParameterCost::Security),
    no_hole("nospectre_v1"),
    no_hole("nospectre_v2"),
    row(
        "cgroup_disable",
        "=NAME,...",
        "leaves controllers out",
        "without cpuset nothing can be isolated at run time",
    )
    .many(),
    row(
        "cgroup_no_v1",
        "=all|NAME,...",
        "keeps controllers for cgroup v2",
        "none; v2 has the better partitions",
    )
    .many(),
    row(
        "cgroup_enable",
        "=NAME",
        "switches controllers on that were built in but off",
        "of old Debian and Raspberry Pi kernels",
    )
    .many(),
    row(
        "efi",
        "=noruntime|runtime|...",
        "firmware calls at run time",
        "they can block a CPU for long; PREEMPT_RT kernels do without by default",
    ),
    row(
        "pci",
        "=WORD,...",
        "how PCI is handled",
        "nomsi makes interrupts share lines",
    )
    .many(),
    row(
        "noirqbalance",
        "",
        "an old word of 32-bit x86 kernels",
        "changes nothing today",
    ),
    row(
        "acpi_irq_nobalance",
        "",
        "how ACPI shares interrupt lines",
        "changes no affinity",
    ),
    row(
        "console",
        "=DEVICE",
        "where the kernel's messages go",
        "serial consoles write with interrupts off",
    )
    .many(),
    row("quiet", "", "fewer messages", "fewer interruptions by the console").twin("/proc/sys/kernel/printk"),
    row(
        "loglevel",
        "=NUMBER",
        "how many messages reach the console",
        "fewer interruptions by the console",
    )
    .twin("/proc/sys/kernel/printk"),
    row(
        "panic",
        "=SECONDS",
        "reboots after a panic",
        "brings a machine back that a boot line broke",
    )
    .twin("/proc/sys/kernel/panic"),
    row(
        "systemd.cpu_affinity",
        "=LIST",
        "where systemd and all that it starts may run",
        "keeps services away; anybody may set another affinity",
    )
    .twin("CPUAffinity= in system.conf, or AllowedCPUs= of slices")
    .program(),
    row(
        "systemd.unified_cgroup_hierarchy",
        "=0|1",
        "cgroup v1 or v2",
        "0 is ignored from systemd 258 on",
    )
    .program(),
    row(
        "tuned.non_isolcpus",
        "=MASK",
        "a note of TuneD's cpu-partitioning profile to itself",
        "the kernel hands it to init",
    )
    .program(),
    row(
        "quietcore",
        "=off",
        "keeps quietcore from isolating at boot",
        "a way back in",
    )
    .program(),
];
