//! Rules about where device interrupts may go.

use super::Check::{Last, One, Words};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use machine::CpuSet;

pub(super) const MISSING: LintRule = rule(
    "irqaffinity-missing",
    Warning,
    "without irqaffinity= device interrupts may arrive on the isolated CPUs from the moment their driver loads",
    "add irqaffinity=HOUSEKEEPING, or move them at run time (quietcore apply does)",
    One(|line| {
        let isolated = line.undisturbed();
        if isolated.is_empty() || line.has("irqaffinity") {
            return None;
        }
        let rest = line.facts.possible.as_ref().map(|possible| possible.minus(&isolated));
        let rest = rest.filter(|rest| !rest.is_empty());
        let edit = rest.map(|rest| LineEdit::Add(format!("irqaffinity={rest}")));
        Some(LintHit::on(isolated.to_string()).edits(edit))
    }),
);

pub(super) const ON_ISOLATED: LintRule = rule(
    "irqaffinity-on-isolated",
    Error,
    "irqaffinity= names the CPUs that interrupts may use, so it sends them to isolated CPUs",
    "write the housekeeping CPUs",
    Last("irqaffinity", |line, place, word| {
        let cpus = line.cpus("irqaffinity")?;
        let (both, rest) = line.isolated_among(&cpus)?;
        Some(
            word.hit()
                .because(format!("CPU {both} is isolated"))
                .edit(LineEdit::list(place, "irqaffinity", &rest)),
        )
    }),
);

pub(super) const BOOT_CPU_ADDED: LintRule = rule(
    "irqaffinity-boot-cpu",
    Info,
    "the kernel adds the boot CPU to irqaffinity= by itself",
    "",
    Last("irqaffinity", |line, _, word| {
        let cpus = line.cpus("irqaffinity")?;
        let boot = line.facts.boot_cpu();
        let hit = || word.hit().because(format!("CPU {boot} is not in the list"));
        (!cpus.contains(boot)).then(hit)
    }),
);

pub(super) const NARROW: LintRule = rule(
    "irqaffinity-narrow",
    Info,
    "all interrupts share fewer CPUs than are available; x86 has about 200 vectors for each CPU",
    "write all housekeeping CPUs",
    Last("irqaffinity", |line, _, word| {
        let mut cpus = line.cpus("irqaffinity")?;
        // The kernel adds it (`kernel/irq/irqdesc.c`, `init_irq_default_affinity`).
        cpus.insert(line.facts.boot_cpu());
        let isolated = line.undisturbed();
        let possible = line.facts.possible.as_ref().filter(|_| !isolated.is_empty())?;
        let unused: CpuSet = possible.minus(&isolated).minus(&cpus);
        let hit = || word.hit().because(format!("CPU {unused} could receive interrupts too"));
        (!unused.is_empty()).then(hit)
    }),
);

pub(super) const ANCIENT: LintRule = rule(
    "irq-balance-words",
    Info,
    "these parameters concern a balancing mechanism that the kernel no longer has; they change no affinity today, and \
     the irqbalance daemon does not read them",
    "remove them; configure irqbalance with IRQBALANCE_BANNED_CPULIST",
    Words(&[
        ("noirqbalance", &[]),
        ("acpi_irq_nobalance", &[]),
        ("acpi_irq_balance", &[]),
        ("noirqdebug_balance", &[]),
    ]),
);

pub(super) const POLLED: LintRule = rule(
    "irqpoll",
    Warning,
    "irqpoll makes the kernel call the handlers of all interrupts when one is not handled, and at each timer \
     interrupt: long periods with interrupts disabled",
    "remove it, unless this machine's interrupts are broken: try the line without it once (quietcore boot trial)",
    Words(&[("irqpoll", &[])]),
);

pub(super) const NO_MSI: LintRule = rule(
    "msi-off",
    Warning,
    "without message-signalled interrupts devices share a few lines, which cannot be moved one by one",
    "remove it",
    Last("pci", |line, _, word| {
        let is_off = word.value().split(',').any(|part| part == "nomsi");
        (is_off && !line.isolated().is_empty()).then(|| word.hit())
    }),
);

pub(super) const IO_APIC_OFF: LintRule = rule(
    "io-apic-off",
    Warning,
    "noapic disables the I/O APIC: its interrupts all arrive on the boot CPU and cannot be moved; message-signalled \
     ones can",
    "remove it, unless this machine does not boot without it",
    Last("noapic", |line, _, word| {
        (!line.isolated().is_empty()).then(|| word.hit())
    }),
);
