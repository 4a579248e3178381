//! Draws the CPUs by their topology: package, memory node, die, last-level cache, level-2 cache, core.
//!
//! Up to [`DRAWN`] CPUs are drawn individually; a larger machine gets one line per cache, node or package, whichever
//! fits a screen. The grouping follows the machine's data, so a node across two packages, or two nodes with the same
//! CPUs, are shown unchanged.

mod cores;
mod marks;
mod place;

use super::View;
use crate::style::{COLUMNS, Role, Style, counted, wrap};
use cores::{Core, cores};
use machine::{Cpu, CpuSet, Machine};
use marks::Marks;
use place::{Labels, Place, full_place, lines};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Maximum number of CPUs drawn individually.
const DRAWN: usize = 160;

/// Maximum number of lines in the short form.
const LINES: usize = 48;

pub(super) fn write(machine: &Machine, view: &View, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let shown = |cpu: &&Cpu| view.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu.id));
    let cpus: Vec<&Cpu> = machine.topology.cpus.iter().filter(shown).collect();
    if cpus.is_empty() {
        return writeln!(
            out,
            "  No CPU to show: the machine reports none{}.",
            if view.cpus.is_some() { " of these" } else { "" }
        );
    }
    let marks = Marks::of(machine, view);
    if cpus.len() <= DRAWN {
        draw(machine, &cpus, &marks, style, out)?;
    } else {
        summarise(machine, &cpus, &marks, style, out)?;
    }
    legend(machine, &cpus, &marks, style, out)
}

fn package_head(package: Option<i64>, all: &[&Cpu], style: Style) -> String {
    let cpus: Vec<&&Cpu> = all.iter().filter(|cpu| cpu.package == package).collect();
    let name = match package {
        None if cpus.len() == all.len() => "CPUs, packages unknown".to_owned(),
        Some(number) => format!("Package {number}"),
        None if cpus.iter().all(|cpu| !cpu.online) => "Offline, place unknown".to_owned(),
        None => "Package unknown".to_owned(),
    };
    let mut cores: Vec<u32> = cpus
        .iter()
        .filter_map(|cpu| cpu.siblings.as_ref()?.first())
        .map(|cpu| cpu.0)
        .collect();
    cores.sort_unstable();
    cores.dedup();
    let count = counted(cpus.len(), "CPU");
    let count = if cores.is_empty() {
        count
    } else {
        format!("{}, {count}", counted(cores.len(), "core"))
    };
    format!(
        "{}  {}",
        style.paint(Role::Head, &name),
        style.paint(Role::Quiet, &count)
    )
}

fn draw(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = lines(cpus, full_place);
    let labels = Labels::of(machine, cpus);
    let label_width = lines
        .values()
        .map(|(place, _)| labels.text(place).len())
        .max()
        .unwrap_or(0);
    let digits = cpus
        .iter()
        .map(|cpu| cpu.id.0.to_string().len())
        .max()
        .unwrap_or(1);
    let threaded = cpus
        .iter()
        .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1));
    // Cores are aligned in columns: those with the same number of threads get the width of the widest, including marks.
    let inside = |core: &Core| {
        core.cpus
            .iter()
            .map(|cpu| digits + marks.letters(cpu.id).len() + 1)
            .sum::<usize>()
            - 1
    };
    let mut rooms: BTreeMap<usize, usize> = BTreeMap::new();
    for core in lines.values().flat_map(|(_, here)| cores(here, threaded)) {
        let room = rooms.entry(core.cpus.len()).or_default();
        *room = inside(&core).max(*room);
    }
    let room = |core: &Core| rooms.get(&core.cpus.len()).copied().unwrap_or(0);
    let mut before: Option<Option<i64>> = None;
    for (place, here) in lines.values() {
        if before != Some(place.package) {
            writeln!(out, "{}", package_head(place.package, cpus, style))?;
            before = Some(place.package);
        }
        let indent = 2 + label_width + if label_width > 0 { 3 } else { 0 };
        let label = labels.text(place);
        let gap = indent - 2 - label.len();
        let mut line = format!("  {}{:gap$}", style.paint(Role::Quiet, &label), "");
        let mut column = indent;
        let cores = cores(here, threaded);
        let width = |core: &Core| core.open.chars().count() + core.close.len() + room(core);
        for (count, core) in cores.iter().enumerate() {
            // A group starts a new line if it does not fit into the rest of this one, but fits into a whole line.
            let rest = cores.get(count..).unwrap_or_default();
            let members = rest
                .iter()
                .position(|core| core.close.ends_with(')'))
                .filter(|_| core.open.contains('('));
            let group: usize = rest
                .iter()
                .take(members.map_or(1, |last| last + 1))
                .map(|core| width(core) + 1)
                .sum();
            let needed = if indent + group <= COLUMNS {
                group
            } else {
                width(core) + 1
            };
            if count > 0 && column + needed > COLUMNS {
                writeln!(out, "{}", line.trim_end())?;
                line = " ".repeat(indent);
                column = indent;
            } else if count > 0 {
                line.push(' ');
                column += 1;
            }
            let entry = |cpu: &&Cpu| {
                let text = format!("{:>digits$}{}", cpu.id.0, marks.letters(cpu.id));
                marks
                    .role(cpu.id)
                    .map_or(text.clone(), |role| style.paint(role, &text))
            };
            let entries: Vec<String> = core.cpus.iter().map(entry).collect();
            let gap = room(core) - inside(core);
            line.push_str(&format!(
                "{}{}{}{:gap$}",
                core.open,
                entries.join(" "),
                core.close,
                ""
            ));
            column += width(core);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn summarise(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let labels = Labels::of(machine, cpus);
    let by_node = |cpu: &Cpu| Place {
        die: None,
        llc: None,
        ..full_place(cpu)
    };
    let by_package = |cpu: &Cpu| Place {
        node: None,
        ..by_node(cpu)
    };
    let mut rows = lines(cpus, full_place);
    if rows.len() > LINES {
        rows = lines(cpus, by_node);
    }
    if rows.len() > LINES {
        rows = lines(cpus, by_package);
    }
    let label_width = rows
        .values()
        .map(|(place, _)| labels.text(place).len())
        .max()
        .unwrap_or(0);
    let mut before: Option<Option<i64>> = None;
    for (place, here) in rows.values() {
        if before != Some(place.package) {
            writeln!(out, "{}", package_head(place.package, cpus, style))?;
            before = Some(place.package);
        }
        let set: CpuSet = here.iter().map(|cpu| cpu.id).collect();
        let mut text = format!("CPU {set}");
        for mark in &marks.0 {
            let bearing = mark.cpus.and(&set);
            if !bearing.is_empty() {
                let which = if bearing == set {
                    "all".to_owned()
                } else {
                    bearing.to_string()
                };
                text.push_str(&format!("; {} {which}", mark.letter));
            }
        }
        let indent = 2 + label_width + if label_width > 0 { 3 } else { 0 };
        let label = labels.text(place);
        let gap = indent - 2 - label.len();
        writeln!(
            out,
            "  {}{:gap$}{}",
            style.paint(Role::Quiet, &label),
            "",
            wrap(&text, indent, COLUMNS)
        )?;
    }
    writeln!(
        out,
        "  {}",
        style.paint(Role::Quiet, "--cpus LIST draws some of them one by one")
    )
}

fn legend(
    machine: &Machine,
    cpus: &[&Cpu],
    marks: &Marks,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let set: CpuSet = cpus.iter().map(|cpu| cpu.id).collect();
    let mut words: Vec<String> = Vec::new();
    if cpus.len() <= DRAWN {
        if cpus
            .iter()
            .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1))
        {
            words.push("[ ] one core with its threads".to_owned());
        }
        let drawn = lines(cpus, full_place);
        if drawn
            .values()
            .any(|(_, here)| cores(here, false).iter().any(|core| core.close.contains(')')))
        {
            words.push("( ) cores that share an L2 cache".to_owned());
        }
        if cpus.iter().any(|cpu| cpu.kind.is_some()) {
            words.push("P performance, E efficiency cores".to_owned());
        }
    }
    let seen = marks.0.iter().filter(|mark| mark.cpus.intersects(&set));
    words.extend(seen.map(|mark| format!("{} {}", mark.letter, mark.meaning)));
    if machine.tasks.is_none() {
        words.push("which CPUs are busy is unknown here".to_owned());
    }
    let mut used = 2;
    write!(out, "\n  ")?;
    for (place, word) in words.iter().enumerate() {
        let width = word.chars().count() + 3;
        if place > 0 && used + width > COLUMNS {
            write!(out, "\n  ")?;
            used = 2;
        }
        let gap = if used > 2 { "   " } else { "" };
        write!(out, "{gap}{}", style.paint(Role::Quiet, word))?;
        used += width;
    }
    writeln!(out)
}
