//! What the findings of a plan mean, by their stable ids, for `explain`. The findings about boot lines are the
//! rules of [`crate::lint`].

/// Ids and meanings.
pub const FINDINGS: &[(&str, &str)] = &[
    (
        "smt-sibling",
        "an isolated CPU shares its core with a housekeeping CPU, which steals execution time from it",
    ),
    (
        "no-balancing",
        "the kernel does not spread threads over isolated CPUs: each has to be pinned",
    ),
    (
        "owner-cset",
        "the program cset made cpusets on this machine, and two tools that move tasks fight",
    ),
    (
        "owner-partrt",
        "the program partrt made cpusets on this machine, and two tools that move tasks fight",
    ),
    (
        "foreign-cpuset",
        "a cpuset of somebody else has no other CPU than the isolated ones and is left alone",
    ),
    (
        "irq-managed",
        "the kernel manages this interrupt's mask itself; only isolcpus=managed_irq at boot keeps it away",
    ),
    (
        "vector-space",
        "more interrupts move to the housekeeping CPUs than x86 has vectors for there",
    ),
    (
        "boot-line-boot-cpu",
        "the boot CPU cannot lose its tick, because it keeps time for the others",
    ),
    (
        "boot-line-ignored",
        "this kernel is built without what a boot parameter needs, so the parameter is left out",
    ),
    (
        "boot-line-unsure",
        "this kernel's configuration is unknown, so a suggested boot parameter may be ignored",
    ),
    (
        "boot-line-no-managed-irq",
        "this kernel is too old for isolcpus=managed_irq",
    ),
    (
        "boot-line-redundant",
        "a boot parameter is left out because another one includes it",
    ),
    (
        "boot-line-at-run-time",
        "part of what the boot line does is done without a reboot",
    ),
    (
        "boot-line-conflict",
        "the present boot line holds something that defeats the suggested one",
    ),
];
