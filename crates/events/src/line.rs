//! Formats one event as one line of text, like the kernel's own `trace` file.
//!
//! Sources: `kernel/trace/trace_output.c` (`trace_print_context`, `trace_print_lat_fmt`); checked line by line against the
//! text of real kernels.

use crate::format::EventFormat;
use crate::formats::{CommonValues, Formats};
use crate::page::PageRecord;
use crate::print::{AddressNames, Printer};
use std::collections::HashMap;
use std::fmt::Write;

const IRQS_OFF: u8 = 0x01;
const NEED_RESCHED_LAZY: u8 = 0x02;
const NEED_RESCHED: u8 = 0x04;
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;
const PREEMPT_RESCHED: u8 = 0x20;
const NMI: u8 = 0x40;
const BH_OFF: u8 = 0x80;

/// The unit of the trace clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockUnit {
    /// Nanoseconds, displayed as seconds with six decimals.
    #[default]
    Nanos,
    /// Another unit (`counter`, `uptime`, `x86-tsc`), displayed unchanged.
    Ticks,
}

impl ClockUnit {
    /// The unit of a clock with this name in `trace_clock`.
    #[must_use]
    pub fn of_clock(name: &str) -> ClockUnit {
        match name {
            "counter" | "uptime" | "x86-tsc" | "ppc-tb" => ClockUnit::Ticks,
            _ => ClockUnit::Nanos,
        }
    }
}

/// Writes events as lines. It caches the parsed format line of each event.
pub struct LineFormatter<'a> {
    formats: &'a Formats,
    names: &'a dyn AddressNames,
    comms: &'a HashMap<i32, String>,
    unit: ClockUnit,
    printers: HashMap<u16, Printer>,
}

impl<'a> LineFormatter<'a> {
    /// Uses that kernel's descriptions, names of addresses and names of threads (`saved_cmdlines`).
    #[must_use]
    pub fn new(
        formats: &'a Formats,
        names: &'a dyn AddressNames,
        comms: &'a HashMap<i32, String>,
        unit: ClockUnit,
    ) -> Self {
        LineFormatter {
            formats,
            names,
            comms,
            unit,
            printers: HashMap::new(),
        }
    }

    /// Appends one line without its end. An event without a description is printed as its number and its length.
    pub fn write(&mut self, out: &mut String, cpu: u32, record: &PageRecord) {
        let common = self.formats.common(record.payload).unwrap_or(CommonValues {
            id: 0,
            flags: 0,
            preempt_count: 0,
            pid: 0,
        });
        let comm = match common.pid {
            0 => "<idle>",
            pid => self.comms.get(&pid).map_or("<...>", String::as_str),
        };
        let _ = write!(out, "{comm:>16}-{:<7} [{cpu:03}] ", common.pid);
        flags(out, common);
        self.time(out, record.at);
        match self.formats.get(common.id) {
            Some(format) => {
                let _ = write!(out, "{}: ", format.name);
                self.text(out, format, record.payload);
            }
            None => {
                let _ = write!(
                    out,
                    "event {}: {} bytes that nothing describes",
                    common.id,
                    record.payload.len()
                );
            }
        }
    }

    /// Appends an event's own text.
    pub fn text(&mut self, out: &mut String, format: &EventFormat, payload: &[u8]) {
        let printer = self.printers.entry(format.id).or_insert_with(|| Printer::of(format));
        printer.print(out, format, payload, self.formats.endian, self.names);
    }

    fn time(&self, out: &mut String, at: u64) {
        let _ = match self.unit {
            ClockUnit::Nanos => {
                let us = at.saturating_add(500) / 1000;
                write!(out, " {:>5}.{:06}: ", us / 1_000_000, us % 1_000_000)
            }
            ClockUnit::Ticks => write!(out, " {at:>12}: "),
        };
    }
}

/// The five letters between CPU and time.
fn flags(out: &mut String, common: CommonValues) {
    let has = |bit: u8| common.flags & bit != 0;
    out.push(match (has(IRQS_OFF), has(BH_OFF)) {
        (true, true) => 'D',
        (true, false) => 'd',
        (false, true) => 'b',
        (false, false) => '.',
    });
    out.push(
        match (has(NEED_RESCHED), has(NEED_RESCHED_LAZY), has(PREEMPT_RESCHED)) {
            (true, true, true) => 'B',
            (true, false, true) => 'N',
            (false, true, true) => 'L',
            (true, true, false) => 'b',
            (true, false, false) => 'n',
            (false, false, true) => 'p',
            (false, true, false) => 'l',
            (false, false, false) => '.',
        },
    );
    out.push(match (has(NMI), has(HARDIRQ), has(SOFTIRQ)) {
        (true, true, _) => 'Z',
        (true, false, _) => 'z',
        (false, true, true) => 'H',
        (false, true, false) => 'h',
        (false, false, true) => 's',
        (false, false, false) => '.',
    });
    for depth in [common.preempt_count & 15, common.preempt_count >> 4] {
        out.push(match depth {
            0 => '.',
            depth => char::from_digit(u32::from(depth), 16).unwrap_or('?'),
        });
    }
}
