//! Parses `/proc/interrupts`: all rows, numbered and named, with one column per online CPU.

use machine::CpuSet;
use machine::OrderBy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A table of counters: rows by name, columns by CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterTable {
    /// The CPUs that have a column.
    pub cpus: CpuSet,
    /// Rows by name (`36`, `LOC`, `TIMER`).
    pub rows: BTreeMap<String, CounterRow>,
}

/// One row of the file: a text and a count per CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterRow {
    /// The text after the counts.
    pub what: String,
    /// CPU and count, ascending, without zeros: a machine of 1,024 CPUs has ten million cells, nearly all zero.
    pub counts: Vec<(u32, u64)>,
}

impl CounterTable {
    /// The count of a row on a CPU; 0 if the row exists but has no count for the CPU.
    #[must_use]
    pub fn count(&self, row: &str, cpu: machine::CpuId) -> Option<u64> {
        if !self.cpus.contains(cpu) {
            return None;
        }
        Some(self.rows.get(row)?.at(cpu.0))
    }
}

impl CounterRow {
    /// The count on a CPU that has a column.
    pub(crate) fn at(&self, cpu: u32) -> u64 {
        self.counts
            .binary_search_by_key(&cpu, |&(cpu, _)| cpu)
            .ok()
            .and_then(|place| self.counts.get(place))
            .map_or(0, |&(_, count)| count)
    }
}

/// Parses the table line by line. Rows with fewer counts than columns (`ERR`, `MIS`) belong to no CPU
/// and are left out (`show_interrupts` in `kernel/irq/proc.c`, `arch_show_interrupts`).
#[derive(Debug, Default)]
pub struct CounterTableParser {
    columns: Vec<u32>,
    table: CounterTable,
}

impl CounterTableParser {
    /// Parses one line, the header first. Lines that are not rows are skipped.
    pub fn line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if self.columns.is_empty() {
            self.columns = text
                .split_whitespace()
                .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
                .filter(|&cpu| cpu <= CpuSet::MAX_CPU)
                .collect();
            self.table.cpus = self.columns.iter().map(|&cpu| machine::CpuId(cpu)).collect();
            return;
        }
        let Some((name, mut rest)) = text.split_once(':') else {
            return;
        };
        let mut counts = Vec::new();
        for &cpu in &self.columns {
            rest = rest.trim_start();
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            let Ok(count) = word.parse::<u64>() else { return };
            if count != 0 {
                counts.push((cpu, count));
            }
            rest = after;
        }
        // The kernel prints its columns in ascending order; other sources may not.
        counts.order_by_key(|&(cpu, _)| cpu);
        let what = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        self.table
            .rows
            .insert(name.trim().to_owned(), CounterRow { what, counts });
    }

    /// The table; `None` if there was no header.
    #[must_use]
    pub fn finish(self) -> Option<CounterTable> {
        (!self.columns.is_empty()).then_some(self.table)
    }
}

/// Parses the text of `/proc/interrupts`, or of `/proc/softirqs`: the same format with one column per *possible* CPU and no
/// text.
#[must_use]
pub fn parse_interrupts(text: &str) -> Option<CounterTable> {
    let mut reader = CounterTableParser::default();
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish()
}
