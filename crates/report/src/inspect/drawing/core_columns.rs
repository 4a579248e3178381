//! Aligns the cores of all lines in columns, and breaks lines between them.

use super::cores::{Core, cores, is_threaded};
use super::marks::Marks;
use super::place::CpusByLocation;
use crate::style::{COLUMNS, Style};
use machine::Cpu;
use std::collections::BTreeMap;

/// Widths of the columns. Cores with the same number of threads get the width of the widest, including marks.
pub(super) struct CoreColumns<'a> {
    marks: &'a Marks,
    style: Style,
    /// Digits of the longest CPU number.
    digits: usize,
    threaded: bool,
    /// The width of a core between its brackets, by its number of threads.
    rooms: BTreeMap<usize, usize>,
}

impl<'a> CoreColumns<'a> {
    pub(super) fn new(cpus: &[&Cpu], lines: &CpusByLocation, marks: &'a Marks, style: Style) -> CoreColumns<'a> {
        let digits = cpus.iter().map(|cpu| cpu.id.0.to_string().len());
        let mut columns = CoreColumns {
            marks,
            style,
            digits: digits.max().unwrap_or(1),
            threaded: is_threaded(cpus),
            rooms: BTreeMap::new(),
        };
        for (_, here) in lines.values() {
            for core in cores(here, columns.threaded) {
                let inside = columns.inside(&core);
                let room = columns.rooms.entry(core.cpus.len()).or_default();
                *room = inside.max(*room);
            }
        }
        columns
    }

    /// The cores of these CPUs, broken into lines with this indent.
    pub(super) fn text(&self, cpus: &[&Cpu], indent: usize) -> String {
        let cores = cores(cpus, self.threaded);
        let mut text = String::new();
        let mut column = indent;
        for (count, core) in cores.iter().enumerate() {
            let needed = self.needed(cores.get(count..).unwrap_or_default(), indent);
            if count > 0 && column + needed > COLUMNS {
                text.truncate(text.trim_end().len());
                text.push_str(&format!("\n{:indent$}", ""));
                column = indent;
            } else if count > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(&self.core(core));
            column += self.width(core);
        }
        text
    }

    /// The width that must be free for the first of these cores. A group starts a new line if it does not fit into the
    /// rest of this one, but fits into a whole line.
    fn needed(&self, cores: &[Core], indent: usize) -> usize {
        let Some(first) = cores.first() else { return 0 };
        let last = cores
            .iter()
            .position(|core| core.close.ends_with(')'))
            .filter(|_| first.open.contains('('));
        let members = cores.iter().take(last.map_or(1, |last| last + 1));
        let group: usize = members.map(|core| self.width(core) + 1).sum();
        if indent + group <= COLUMNS {
            group
        } else {
            self.width(first) + 1
        }
    }

    fn core(&self, core: &Core) -> String {
        let digits = self.digits;
        let entry = |cpu: &&Cpu| {
            let text = format!("{:>digits$}{}", cpu.id.0, self.marks.letters(cpu.id));
            let role = self.marks.role(cpu.id);
            role.map_or(text.clone(), |role| self.style.paint(role, &text))
        };
        let entries: Vec<String> = core.cpus.iter().map(entry).collect();
        let gap = self.room(core) - self.inside(core);
        format!("{}{}{}{:gap$}", core.open, entries.join(" "), core.close, "")
    }

    /// The width of its CPUs.
    fn inside(&self, core: &Core) -> usize {
        let widths = core
            .cpus
            .iter()
            .map(|cpu| self.digits + self.marks.letters(cpu.id).len() + 1);
        widths.sum::<usize>() - 1
    }

    fn room(&self, core: &Core) -> usize {
        self.rooms.get(&core.cpus.len()).copied().unwrap_or(0)
    }

    fn width(&self, core: &Core) -> usize {
        core.open.chars().count() + core.close.len() + self.room(core)
    }
}
