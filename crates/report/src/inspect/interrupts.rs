//! Lists which interrupts may fire on the isolated CPUs, and which have fired there.

use super::{InspectView, subject_cpus};
use crate::report_text::ReportText;
use crate::style::{COLUMNS, TextRole, counted, cut, grouped, safe_cut};
use machine::{CpuId, CpuSet, Interrupt, Machine, OrderBy};

pub(super) fn write(text: &mut ReportText, machine: &Machine, view: &InspectView) {
    let (cpus, why) = subject_cpus(machine, view);
    let narrowed = view.cpus.is_some();
    let title = format!("Interrupts and CPU {} ({why})", cut(&cpus.to_string(), 40));
    text.painted(TextRole::Head, &title);
    writeln!(text);
    let Some(interrupts) = &machine.interrupts else {
        writeln!(text, "  Unknown: /proc/interrupts and /proc/irq are missing.");
        return;
    };
    let table = IrqTable {
        everything: cpus == machine.topology.online && !narrowed,
        cpus,
    };
    table.write_summary(text, interrupts);
    let mut shown: Vec<&Interrupt> = interrupts
        .iter()
        .filter(|irq| !narrowed || table.may(irq) || table.fires(irq) || table.here(irq) > 0)
        .collect();
    // Order by importance: those that fire there, those that may fire there, the rest.
    shown.order_by_key(|irq| (!table.fires(irq), !table.may(irq), irq.irq));
    text.painted(TextRole::Quiet, &table.head());
    view.interrupts
        .write_rows(text, &shown, |text, irq| table.write_row(text, irq));
    table.write_legend(text, &shown);
}

/// The list of interrupts, in relation to some CPUs.
struct IrqTable {
    cpus: CpuSet,
    /// These are all CPUs, so no interrupt is marked.
    everything: bool,
}

impl IrqTable {
    fn may(&self, irq: &Interrupt) -> bool {
        irq.affinity.as_ref().is_some_and(|set| set.intersects(&self.cpus))
    }

    fn fires(&self, irq: &Interrupt) -> bool {
        irq.effective.as_ref().is_some_and(|set| set.intersects(&self.cpus))
    }

    /// How often it fired on these CPUs.
    fn here(&self, irq: &Interrupt) -> u64 {
        irq.counts
            .iter()
            .filter(|(cpu, _)| self.cpus.contains(CpuId(*cpu)))
            .map(|(_, count)| count)
            .sum()
    }

    /// How many interrupts concern these CPUs.
    fn write_summary(&self, text: &mut ReportText, interrupts: &[Interrupt]) {
        if self.everything {
            return;
        }
        let fire = interrupts.iter().filter(|irq| self.fires(irq)).count();
        let allowed = interrupts.iter().filter(|irq| self.may(irq)).count();
        let all = counted(interrupts.len(), "interrupt");
        writeln!(
            text,
            "  of {all}, {fire} now fire on these CPUs and {allowed} may by their mask\n"
        );
    }

    fn head(&self) -> String {
        let counts = match self.everything {
            true => "COUNTED WHERE",
            false => " COUNTED HERE      ALL CPUS",
        };
        columns(["", "IRQ", "REQUESTED", "EFFECTIVE", counts, "NAME"])
    }

    fn write_row(&self, text: &mut ReportText, irq: &Interrupt) {
        let set = |set: &Option<CpuSet>, width| {
            set.as_ref()
                .map_or_else(|| "?".to_owned(), |set| cut(&set.to_string(), width))
        };
        let (mark, role) = match () {
            () if self.everything => ("", None),
            () if self.fires(irq) => ("!", Some(TextRole::Bad)),
            () if self.may(irq) => ("?", Some(TextRole::Warning)),
            () => ("", None),
        };
        let name = match irq.name.as_str() {
            "" => "(not requested)".to_owned(),
            name => safe_cut(name, COLUMNS - 62),
        };
        let counts = match self.everything {
            true => where_counted(irq),
            false => format!("{:>13} {:>13}", grouped(self.here(irq)), grouped(total(irq))),
        };
        let line = columns([
            &format!("{mark}{}", immutability_mark(irq)),
            &irq.irq.to_string(),
            &set(&irq.affinity, 11),
            &set(&irq.effective, 9),
            &counts,
            &name,
        ]);
        let line = line.trim_end();
        match role {
            Some(role) => text.painted(role, line),
            None => writeln!(text, "{line}"),
        }
    }

    /// The meaning of the marks in the list.
    fn write_legend(&self, text: &mut ReportText, shown: &[&Interrupt]) {
        let has = |mark: &str| shown.iter().any(|irq| immutability_mark(irq) == mark);
        writeln!(text);
        for (is_needed, line) in [
            (
                !self.everything,
                "! fires on these CPUs   ? its mask allows these CPUs; the chip chose another",
            ),
            (
                has("m"),
                "m managed: the kernel distributes the device's queues and refuses a change",
            ),
            (
                has("f"),
                "f fixed: a timer, a per-CPU interrupt, or one whose chip accepts no mask",
            ),
            (
                true,
                "Timers, IPIs and other interrupts without a number are not listed.",
            ),
        ] {
            if is_needed {
                writeln!(text, "  {}", text.paint(TextRole::Quiet, line));
            }
        }
    }
}

fn columns([marks, irq, requested, effective, counts, name]: [&str; 6]) -> String {
    format!("{marks:2} {irq:>5}  {requested:<11} {effective:<9} {counts:<27}  {name}")
}

/// Why a mask cannot change: `m` the kernel manages it, `f` it is fixed.
fn immutability_mark(irq: &Interrupt) -> &'static str {
    match irq.immovable() {
        Some(reason) if reason.follows_managed_irq() => "m",
        Some(_) => "f",
        None => "",
    }
}

fn total(irq: &Interrupt) -> u64 {
    irq.counts.iter().map(|(_, count)| count).sum()
}

/// The CPUs with the highest counts: `cpu1 1,027,781`.
fn where_counted(irq: &Interrupt) -> String {
    let mut counts: Vec<&(u32, u64)> = irq.counts.iter().collect();
    counts.order_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    let text = |(cpu, count): &&(u32, u64)| format!("cpu{cpu} {}", grouped(*count));
    match counts.as_slice() {
        [] => "never".to_owned(),
        [one] => text(one),
        [first, second] => cut(&format!("{}, {}", text(first), text(second)), 27),
        [first, rest @ ..] => cut(&format!("{}, {} more CPUs", text(first), rest.len()), 27),
    }
}
