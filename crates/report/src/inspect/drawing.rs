//! Draws the CPUs by their topology: package, memory node, die, last-level cache, level-2 cache, core.
//!
//! Up to [`DRAWN`] CPUs are drawn individually; a larger machine gets one line per cache, node or package, whichever
//! fits a screen. The grouping follows the machine's data, so a node across two packages, or two nodes with the same
//! CPUs, are shown unchanged.

mod core_columns;
mod cores;
mod marks;
mod place;

use super::InspectView;
use crate::report_text::ReportText;
use crate::style::{COLUMNS, TextRole, counted, wrap};
use core_columns::CoreColumns;
use cores::{cores, is_threaded};
use machine::{Cpu, CpuSet, Machine};
use marks::Marks;
use place::{CpuLocation, CpusByLocation, LocationLabels, full_place, lines};

/// Maximum number of CPUs drawn individually.
const DRAWN: usize = 160;

/// Maximum number of lines in the short form.
const LINES: usize = 48;

pub(super) fn write(text: &mut ReportText, machine: &Machine, view: &InspectView) {
    let shown = |cpu: &&Cpu| view.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu.id));
    let cpus: Vec<&Cpu> = machine.topology.cpus.iter().filter(shown).collect();
    if cpus.is_empty() {
        let of_these = if view.cpus.is_some() { " of these" } else { "" };
        writeln!(text, "  No CPU to show: the machine reports none{of_these}.");
        return;
    }
    let marks = Marks::of(machine, view);
    if cpus.len() <= DRAWN {
        draw(text, machine, &cpus, &marks);
    } else {
        summarise(text, machine, &cpus, &marks);
    }
    legend(text, machine, &cpus, &marks);
}

fn package_head(text: &mut ReportText, package: Option<i64>, all: &[&Cpu]) {
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
    let mut count = counted(cpus.len(), "CPU");
    if !cores.is_empty() {
        count = format!("{}, {count}", counted(cores.len(), "core"));
    }
    let name = text.paint(TextRole::Head, &name);
    writeln!(text, "{name}  {}", text.paint(TextRole::Quiet, &count));
}

/// Lines with labels, below the heads of their packages.
struct LabelledLines<'a> {
    lines: CpusByLocation<'a>,
    labels: LocationLabels<'a>,
    /// The width of the label, with its margins.
    indent: usize,
}

impl<'a> LabelledLines<'a> {
    fn new(machine: &'a Machine, cpus: &[&Cpu], lines: CpusByLocation<'a>) -> LabelledLines<'a> {
        let labels = LocationLabels::of(machine, cpus);
        let widths = lines.values().map(|(place, _)| labels.text(place).len());
        let indent = match widths.max().unwrap_or(0) {
            0 => 2,
            width => 2 + width + 3,
        };
        LabelledLines { lines, labels, indent }
    }

    /// Writes the head of each package, and each of its lines: its label, and what `content` writes for its CPUs.
    fn write(&self, text: &mut ReportText, cpus: &[&Cpu], content: impl Fn(&[&'a Cpu]) -> String) {
        let mut before: Option<Option<i64>> = None;
        for (place, here) in self.lines.values() {
            if before != Some(place.package) {
                package_head(text, place.package, cpus);
                before = Some(place.package);
            }
            let label = self.labels.text(place);
            let gap = self.indent - 2 - label.len();
            let line = format!("  {}{:gap$}{}", text.paint(TextRole::Quiet, &label), "", content(here));
            writeln!(text, "{}", line.trim_end());
        }
    }
}

fn draw(text: &mut ReportText, machine: &Machine, cpus: &[&Cpu], marks: &Marks) {
    let rows = LabelledLines::new(machine, cpus, lines(cpus, full_place));
    let columns = CoreColumns::new(cpus, &rows.lines, marks, text.style());
    rows.write(text, cpus, |here| columns.text(here, rows.indent));
}

fn summarise(text: &mut ReportText, machine: &Machine, cpus: &[&Cpu], marks: &Marks) {
    let by_node = |cpu: &Cpu| CpuLocation {
        die: None,
        llc: None,
        ..full_place(cpu)
    };
    let by_package = |cpu: &Cpu| CpuLocation {
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
    let rows = LabelledLines::new(machine, cpus, rows);
    rows.write(text, cpus, |here| wrap(&marked_set(here, marks), rows.indent, COLUMNS));
    text.wrapped_as(TextRole::Quiet, 2, 2, "--cpus CPUS draws single CPUs");
}

/// `CPU 0-63; t 2-63; ^ 0`: the CPUs, and which of them have a mark.
fn marked_set(cpus: &[&Cpu], marks: &Marks) -> String {
    let set: CpuSet = cpus.iter().map(|cpu| cpu.id).collect();
    let mut text = format!("CPU {set}");
    for mark in &marks.0 {
        let bearing = mark.cpus.and(&set);
        if !bearing.is_empty() {
            let which = match bearing == set {
                true => "all".to_owned(),
                false => bearing.to_string(),
            };
            text.push_str(&format!("; {} {which}", mark.letter));
        }
    }
    text
}

fn legend(text: &mut ReportText, machine: &Machine, cpus: &[&Cpu], marks: &Marks) {
    let set: CpuSet = cpus.iter().map(|cpu| cpu.id).collect();
    let mut words: Vec<String> = Vec::new();
    if cpus.len() <= DRAWN {
        if is_threaded(cpus) {
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
        words.push("the busy CPUs are unknown".to_owned());
    }
    let mut used = 2;
    write!(text, "\n  ");
    for (place, word) in words.iter().enumerate() {
        let width = word.chars().count() + 3;
        if place > 0 && used + width > COLUMNS {
            write!(text, "\n  ");
            used = 2;
        }
        let gap = if used > 2 { "   " } else { "" };
        write!(text, "{gap}{}", text.paint(TextRole::Quiet, word));
        used += width;
    }
    writeln!(text);
}
