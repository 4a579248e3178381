//! Safety, security, control groups, and words that programs read from the boot line.

use super::{ParameterCost, ParameterRow, row};

const HOLES: &str = "system calls become cheaper; a program that stays in user space gains nothing";

const fn hole(name: &'static str, form: &'static str) -> ParameterRow {
    row(name, form, "mitigation of one processor vulnerability", HOLES).price(ParameterCost::Security)
}

const fn no_hole(name: &'static str) -> ParameterRow {
    row(
        name,
        "",
        "disables the mitigation of one processor vulnerability",
        HOLES,
    )
    .price(ParameterCost::Security)
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
        "disables machine checks (x86)",
        "hides even fatal errors, like mce=off",
    )
    .price(ParameterCost::Safety),
    row(
        "nowatchdog",
        "",
        "disables both lockup detectors",
        "no watchdog timer and no NMI, and no report of hung CPUs",
    )
    .twin("/proc/sys/kernel/watchdog_cpumask excludes only the isolated CPUs")
    .price(ParameterCost::Safety),
    row(
        "nosoftlockup",
        "",
        "disables the soft lockup detector",
        "no watchdog timer and no wake-up of migration/N",
    )
    .twin("/proc/sys/kernel/watchdog_cpumask excludes only the isolated CPUs")
    .price(ParameterCost::Safety),
    row(
        "nmi_watchdog",
        "=0|1",
        "the hard lockup detector",
        "it uses a performance counter, and sends an NMI about every ten busy seconds",
    )
    .twin("/proc/sys/kernel/nmi_watchdog, or watchdog_cpumask for single CPUs")
    .price(ParameterCost::Safety),
    row(
        "audit",
        "=0|1",
        "the audit subsystem",
        "system calls are audited when it is on",
    )
    .price(ParameterCost::Security),
    row(
        "mitigations",
        "=auto|off|auto,nosmt",
        "mitigations of processor vulnerabilities",
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
        "disables controllers",
        "without cpuset nothing can be isolated at run time",
    )
    .many(),
    row(
        "cgroup_no_v1",
        "=all|NAME,...",
        "reserves controllers for cgroup v2",
        "none; v2 has the better partitions",
    )
    .many(),
    row(
        "cgroup_enable",
        "=NAME",
        "enables controllers that were built in but disabled",
        "only for old Debian and Raspberry Pi kernels",
    )
    .many(),
    row(
        "efi",
        "=noruntime|runtime|...",
        "firmware calls at run time",
        "they can block a CPU for long; PREEMPT_RT kernels do not use them by default",
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
        "an obsolete parameter of 32-bit x86 kernels",
        "has no effect today",
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
        "restarts a machine that does not boot with its boot line",
    )
    .twin("/proc/sys/kernel/panic"),
    row(
        "systemd.cpu_affinity",
        "=LIST",
        "where systemd and everything that it starts may run",
        "moves services away; any program may set another affinity",
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
        "a parameter that TuneD's cpu-partitioning profile adds for its own use",
        "the kernel passes it to init",
    )
    .program(),
    row(
        "quietcore",
        "=off",
        "prevents quietcore from isolating CPUs at boot",
        "a way to start without isolation",
    )
    .program(),
];
