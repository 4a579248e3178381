//! Rules about where device interrupts may go.

use super::Check::{One, Words};
use super::repair::LineEdit;
use super::{LintHit, LintRule};
use crate::Level::{Error, Info, Warning};
use machine::CpuSet;

pub(super) const MISSING: LintRule = LintRule {
    id: "irqaffinity-missing",
    level: Warning,
    truth: "without irqaffinity= interrupts of devices may land on the isolated CPUs from the moment their driver loads",
    fix: "irqaffinity=HOUSEKEEPING, or move them at run time (quietcore apply does)",
    check: One(|line| {
        let isolated = line.domain.or(&line.tickless());
        if isolated.is_empty() || line.has("irqaffinity") {
            return None;
        }
        let hit = LintHit::on(isolated.to_string());
        let rest = line.facts.possible.as_ref().map(|possible| possible.minus(&isolated));
        Some(match rest.filter(|rest| !rest.is_empty()) {
            Some(rest) => hit.edit(LineEdit::Add(format!("irqaffinity={rest}"))),
            None => hit,
        })
    }),
};

pub(super) const ON_ISOLATED: LintRule = LintRule {
    id: "irqaffinity-on-isolated",
    level: Error,
    truth: "irqaffinity= names the CPUs that interrupts may use, so it sends them to isolated CPUs",
    fix: "write the housekeeping CPUs",
    check: One(|line| {
        let (place, word) = line.last("irqaffinity")?;
        let cpus = line.cpus("irqaffinity")?;
        let (both, rest) = line.isolated_among(&cpus)?;
        Some(
            word.hit()
                .because(format!("CPU {both} is isolated"))
                .edit(LineEdit::list(place, "irqaffinity", &rest)),
        )
    }),
};

pub(super) const BOOT_CPU_ADDED: LintRule = LintRule {
    id: "irqaffinity-boot-cpu",
    level: Info,
    truth: "the kernel adds the boot CPU to irqaffinity= by itself",
    fix: "",
    check: One(|line| {
        let (_, word) = line.last("irqaffinity")?;
        let cpus = line.cpus("irqaffinity")?;
        let boot = line.facts.boot_cpu();
        let hit = || word.hit().because(format!("CPU {boot} is not in the list"));
        (!cpus.contains(boot)).then(hit)
    }),
};

pub(super) const NARROW: LintRule = LintRule {
    id: "irqaffinity-narrow",
    level: Info,
    truth: "all interrupts share fewer CPUs than are free for them; x86 has about 200 vectors for each",
    fix: "write all housekeeping CPUs",
    check: One(|line| {
        let (_, word) = line.last("irqaffinity")?;
        let mut cpus = line.cpus("irqaffinity")?;
        // The kernel adds it (`kernel/irq/irqdesc.c`, `init_irq_default_affinity`).
        cpus.insert(line.facts.boot_cpu());
        let isolated = line.domain.or(&line.tickless());
        let possible = line.facts.possible.as_ref().filter(|_| !isolated.is_empty())?;
        let unused: CpuSet = possible.minus(&isolated).minus(&cpus);
        let hit = || word.hit().because(format!("CPU {unused} could take interrupts too"));
        (!unused.is_empty()).then(hit)
    }),
};

pub(super) const ANCIENT: LintRule = LintRule {
    id: "irq-balance-words",
    level: Info,
    truth: "these words are about balancing that the kernel gave up long ago; they change no affinity today, and the daemon irqbalance does not read them",
    fix: "take them out; tell irqbalance with IRQBALANCE_BANNED_CPULIST",
    check: Words(&[
        ("noirqbalance", &[]),
        ("acpi_irq_nobalance", &[]),
        ("acpi_irq_balance", &[]),
        ("noirqdebug_balance", &[]),
    ]),
};

pub(super) const POLLED: LintRule = LintRule {
    id: "irqpoll",
    level: Warning,
    truth: "irqpoll makes the kernel ask the handlers of all interrupts when one is not handled, and at each timer interrupt: long stretches with interrupts off",
    fix: "take it out, unless this machine's interrupts are broken: try the line without it once (quietcore boot trial)",
    check: Words(&[("irqpoll", &[])]),
};

pub(super) const NO_MSI: LintRule = LintRule {
    id: "msi-off",
    level: Warning,
    truth: "without message-signalled interrupts devices share a few lines, which cannot be moved one by one",
    fix: "remove it",
    check: One(|line| {
        let found = line
            .last("pci")
            .filter(|(_, word)| word.value().split(',').any(|part| part == "nomsi"));
        let touched = !line.isolated().is_empty();
        found.filter(|_| touched).map(|(_, word)| word.hit())
    }),
};

pub(super) const IO_APIC_OFF: LintRule = LintRule {
    id: "io-apic-off",
    level: Warning,
    truth: "noapic switches the I/O APIC off: its interrupts all arrive on the boot CPU and cannot be moved; message-signalled ones still can",
    fix: "remove it, unless this machine does not boot without it",
    check: One(|line| {
        let found = line.last("noapic").filter(|_| !line.isolated().is_empty());
        found.map(|(_, word)| word.hit())
    }),
};
