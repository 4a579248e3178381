//! Lists which interrupts may fire on the isolated CPUs, and which have fired there.

use super::{View, subject_cpus};
use crate::style::{COLUMNS, Role, Style, counted, cut, grouped, safe_cut};
use machine::{CpuId, CpuSet, Interrupt, Machine};
use std::io::{self, Write};

pub(super) fn write(machine: &Machine, view: &View, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (cpus, why) = subject_cpus(machine, view);
    let narrowed = view.cpus.is_some();
    writeln!(
        out,
        "{}\n",
        style.paint(
            Role::Head,
            &format!("Interrupts and CPU {} ({why})", cut(&cpus.to_string(), 40))
        )
    )?;
    let Some(interrupts) = &machine.interrupts else {
        return writeln!(out, "  Unknown: /proc/interrupts and /proc/irq are not here.");
    };
    let may = |irq: &Interrupt| irq.affinity.as_ref().is_some_and(|set| set.intersects(&cpus));
    let fires = |irq: &Interrupt| irq.effective.as_ref().is_some_and(|set| set.intersects(&cpus));
    let here = |irq: &Interrupt| count_on(irq, &cpus);
    let mut shown: Vec<&Interrupt> = interrupts
        .iter()
        .filter(|irq| !narrowed || may(irq) || fires(irq) || here(irq) > 0)
        .collect();
    // Order by importance: those that fire there, those that may fire there, the rest.
    shown.sort_by_key(|irq| (!fires(irq), !may(irq), irq.irq));
    let everything = cpus == machine.topology.online && !narrowed;
    if !everything {
        let counts = [
            interrupts.iter().filter(|irq| fires(irq)).count(),
            interrupts.iter().filter(|irq| may(irq)).count(),
        ];
        let [fire, allowed] = counts;
        writeln!(
            out,
            "  of {}, {fire} now fire on these CPUs and {allowed} may by their mask\n",
            counted(interrupts.len(), "interrupt")
        )?;
    }
    let line = |marks: &str, irq: &str, asked: &str, effective: &str, counts: &str, name: &str| {
        format!("{marks:2} {irq:>5}  {asked:<11} {effective:<9} {counts:<27}  {name}")
    };
    let counts_head = if everything {
        "COUNTED WHERE"
    } else {
        " COUNTED HERE      ALL CPUS"
    };
    let head = line("", "IRQ", "REQUESTED", "EFFECTIVE", counts_head, "NAME");
    writeln!(out, "{}", style.paint(Role::Quiet, &head))?;
    let rows = view.interrupts.rows();
    for irq in shown.iter().take(rows) {
        let set = |set: &Option<CpuSet>, width| {
            set.as_ref()
                .map_or_else(|| "?".to_owned(), |set| cut(&set.to_string(), width))
        };
        let (mark, role) = match () {
            () if everything => ("", None),
            () if fires(irq) => ("!", Some(Role::Bad)),
            () if may(irq) => ("?", Some(Role::Care)),
            () => ("", None),
        };
        let managed = kept_by(irq);
        let name = if irq.name.is_empty() {
            "(not requested)".to_owned()
        } else {
            safe_cut(&irq.name, COLUMNS - 62)
        };
        let counts = if everything {
            where_counted(irq)
        } else {
            format!("{:>13} {:>13}", grouped(here(irq)), grouped(total(irq)))
        };
        let (asked, effective) = (set(&irq.affinity, 11), set(&irq.effective, 9));
        let text = line(
            &format!("{mark}{managed}"),
            &irq.irq.to_string(),
            &asked,
            &effective,
            &counts,
            &name,
        );
        writeln!(
            out,
            "{}",
            role.map_or(text.trim_end().to_owned(), |role| style
                .paint(role, text.trim_end()))
        )?;
    }
    if shown.len() > rows {
        writeln!(
            out,
            "  and {} more (-v shows all of them, --json too)",
            shown.len() - rows
        )?;
    }
    writeln!(out)?;
    if !everything {
        writeln!(
            out,
            "  {}",
            style.paint(
                Role::Quiet,
                "! fires on these CPUs   ? its mask lets it; the chip chose another CPU"
            )
        )?;
    }
    if shown.iter().any(|irq| kept_by(irq) == "m") {
        writeln!(
            out,
            "  {}",
            style.paint(
                Role::Quiet,
                "m managed: the kernel spreads the device's queues itself and refuses a change"
            )
        )?;
    }
    if shown.iter().any(|irq| kept_by(irq) == "f") {
        let text = "f fixed: a timer, one of each CPU, or one whose chip accepts no mask";
        writeln!(out, "  {}", style.paint(Role::Quiet, text))?;
    }
    writeln!(
        out,
        "  {}",
        style.paint(
            Role::Quiet,
            "Timers, IPIs and other interrupts without a number are not in this list."
        )
    )
}

/// Why a mask cannot change: `m` the kernel manages it, `f` it is fixed.
fn kept_by(irq: &Interrupt) -> &'static str {
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
    counts.sort_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    let text = |(cpu, count): &&(u32, u64)| format!("cpu{cpu} {}", grouped(*count));
    match counts.as_slice() {
        [] => "never".to_owned(),
        [one] => text(one),
        [first, second] => cut(&format!("{}, {}", text(first), text(second)), 27),
        [first, rest @ ..] => cut(&format!("{}, {} more CPUs", text(first), rest.len()), 27),
    }
}

fn count_on(irq: &Interrupt, cpus: &CpuSet) -> u64 {
    irq.counts
        .iter()
        .filter(|(cpu, _)| cpus.contains(CpuId(*cpu)))
        .map(|(_, count)| count)
        .sum()
}
