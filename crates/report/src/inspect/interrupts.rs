//! Which interrupts may fire on the isolated CPUs, and which have fired there.

use super::{View, subject_cpus};
use crate::style::{COLUMNS, Role, Style, counted, cut, grouped, safe, safe_cut};
use machine::{CpuId, CpuSet, Interrupt, Machine};
use std::io::{self, Write};

pub(super) fn write(machine: &Machine, view: &View, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (cpus, why) = subject_cpus(machine, view);
    let narrowed = view.cpus.is_some();
    writeln!(out, "{}\n", style.paint(Role::Head, &format!("Interrupts and CPU {} ({why})", cut(&cpus.to_string(), 40))))?;
    let Some(interrupts) = &machine.interrupts else {
        return writeln!(out, "  Unknown: /proc/interrupts and /proc/irq are not here.");
    };
    let may = |irq: &Interrupt| irq.affinity.as_ref().is_some_and(|set| set.intersects(&cpus));
    let fires = |irq: &Interrupt| irq.effective.as_ref().is_some_and(|set| set.intersects(&cpus));
    let here = |irq: &Interrupt| count_on(irq, &cpus);
    let mut shown: Vec<&Interrupt> =
        interrupts.iter().filter(|irq| !narrowed || may(irq) || fires(irq) || here(irq) > 0).collect();
    // Those that matter come first: they fire there, they may fire there, the rest.
    shown.sort_by_key(|irq| (!fires(irq), !may(irq), irq.irq));
    let everything = cpus == machine.topology.online && !narrowed;
    if !everything {
        let counts = [interrupts.iter().filter(|irq| fires(irq)).count(), interrupts.iter().filter(|irq| may(irq)).count()];
        let [fire, allowed] = counts;
        writeln!(
            out,
            "  of {}, {fire} now fire on these CPUs and {allowed} may by their mask\n",
            counted(interrupts.len(), "interrupt")
        )?;
    }
    let line = |mark: &str, irq: &str, asked: &str, effective: &str, there: &str, total: &str, name: &str| {
        format!("{mark:1} {irq:>5}  {asked:<13} {effective:<10} {there:>13} {total:>13}  {name}")
    };
    let head = line("", "IRQ", "REQUESTED", "EFFECTIVE", "COUNTED HERE", "ALL CPUS", "NAME");
    writeln!(out, "{}", style.paint(Role::Quiet, &head))?;
    let rows = view.interrupts.rows();
    for irq in shown.iter().take(rows) {
        let set = |set: &Option<CpuSet>, width| set.as_ref().map_or_else(|| "?".to_owned(), |set| cut(&set.to_string(), width));
        let total: u64 = irq.counts.iter().map(|(_, count)| count).sum();
        let (mark, role) = match () {
            () if everything => ("", None),
            () if fires(irq) => ("!", Some(Role::Bad)),
            () if may(irq) => ("?", Some(Role::Care)),
            () => ("", None),
        };
        let name = if irq.name.is_empty() { "(not requested)".to_owned() } else { safe(&irq.name) };
        let managed = if irq.managed == Some(true) { " [kernel-managed]" } else { "" };
        let name = format!("{}{managed}", safe_cut(&name.replace("\\\\", "\\"), COLUMNS - 63 + 3 - managed.len().min(10)));
        let effective = set(&irq.effective, 10);
        let text = line(mark, &irq.irq.to_string(), &set(&irq.affinity, 13), &effective, &grouped(here(irq)), &grouped(total), &name);
        writeln!(out, "{}", role.map_or(text.clone(), |role| style.paint(role, &text)).trim_end())?;
    }
    if shown.len() > rows {
        writeln!(out, "  and {} more (-v shows all of them, --json too)", shown.len() - rows)?;
    }
    if !everything {
        writeln!(out, "\n  {}", style.paint(Role::Quiet, "! fires on these CPUs   ? its mask lets it; the chip chose another CPU"))?;
    }
    if interrupts.iter().any(|irq| irq.managed == Some(true)) {
        writeln!(out, "  {}", style.paint(Role::Quiet, "[kernel-managed] the kernel chooses the CPUs of its queues and refuses a change"))?;
    }
    writeln!(out, "  {}", style.paint(Role::Quiet, "Timers, IPIs and other interrupts without a number are not in this list."))
}

fn count_on(irq: &Interrupt, cpus: &CpuSet) -> u64 {
    irq.counts.iter().filter(|(cpu, _)| cpus.contains(CpuId(*cpu))).map(|(_, count)| count).sum()
}
