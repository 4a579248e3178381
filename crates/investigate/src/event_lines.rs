//! Writes the events of a trace as lines, in the kernel's own format.

use crate::trace_input::{TraceInput, TraceStatistics, no_trace, open, parse, unreadable};
use events::dat::TraceFile;
use events::text::{TextEvent, TextItem, TextReader};
use events::{ClockUnit, LineFormatter, PageRecord, StreamItem};
use machine::{CpuId, CpuSet};
use root::Failure;
use session::Session;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::Path;

/// Which events are written.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Their CPUs; `None` for all.
    pub cpus: Option<CpuSet>,
    /// Their names; empty for all.
    pub names: Vec<String>,
}

impl EventFilter {
    fn admits(&self, cpu: u32, name: Option<&str>) -> bool {
        let names = &self.names;
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(CpuId(cpu)))
            && (names.is_empty() || name.is_some_and(|name| names.iter().any(|selected| selected == name)))
    }
}

/// Takes a line; `Break` ends the reading.
pub type LineSink<'a> = dyn FnMut(&str) -> ControlFlow<()> + 'a;

/// Reads a trace and passes on a line for each event of the filter, and for each gap.
///
/// # Errors
/// A file that is not a trace, or cannot be read to its end; a text without any event.
pub fn event_lines(
    session: &Session,
    path: &Path,
    filter: &EventFilter,
    take: &mut LineSink,
) -> Result<TraceStatistics, Failure> {
    match open(path)? {
        TraceInput::Dat(bytes) => Ok(of_dat(session, &parse(session, &bytes, path)?, filter, take)),
        TraceInput::Text(input) => of_text(input, path, filter, take),
    }
}

fn of_dat(session: &Session, file: &TraceFile, filter: &EventFilter, take: &mut LineSink) -> TraceStatistics {
    let (formats, wrong) = file.description.formats();
    for (system, error) in &wrong {
        session.note(&format!("an event of {}: {error}\n", report::safe(system)));
    }
    let (names, comms) = (file.description.names(), file.description.comms());
    let correction = file.correction();
    let units = file.buffers.iter().map(|buffer| ClockUnit::of_clock(&buffer.clock));
    let mut lines: Vec<LineFormatter> = units
        .map(|unit| LineFormatter::new(&formats, &names, &comms, unit))
        .collect();
    let mut account = TraceStatistics::default();
    let mut line = String::new();
    for item in file.events() {
        line.clear();
        match item.event {
            StreamItem::Record { cpu, record } => {
                account.events += 1;
                let common = formats.common(record.payload);
                let format = common.and_then(|common| formats.get(common.id));
                let name = format.map(|format| format.name.as_str());
                let (true, Some(lines)) = (filter.admits(cpu, name), lines.get_mut(item.buffer)) else {
                    continue;
                };
                let buffer = file.buffers.get(item.buffer).map(|buffer| &buffer.name);
                if let Some(buffer) = buffer.filter(|name| !name.is_empty()) {
                    line.push_str(buffer);
                    line.push_str(": ");
                }
                let at = correction.apply(record.at);
                lines.write(&mut line, cpu, &PageRecord { at, ..record });
            }
            StreamItem::Lost { cpu, count } => {
                account.lose(count);
                line = match count {
                    Some(count) => format!("CPU:{cpu} [LOST {count} EVENTS]"),
                    None => format!("CPU:{cpu} [LOST EVENTS]"),
                };
            }
            StreamItem::Broken { cpu, error } => {
                account.broken += 1;
                line = format!("CPU:{cpu} [A PAGE THAT CANNOT BE READ: {error}]");
            }
        }
        if take(&line).is_break() {
            break;
        }
    }
    account
}

fn of_text(
    input: Box<dyn BufRead>,
    path: &Path,
    filter: &EventFilter,
    take: &mut LineSink,
) -> Result<TraceStatistics, Failure> {
    let mut reader = TextReader::new(input);
    let mut account = TraceStatistics::default();
    while let Some(item) = reader.next_item().map_err(|error| unreadable(path, &error))? {
        let line = match item {
            TextItem::Event(event) => {
                account.events += 1;
                if !filter.admits(event.cpu, Some(event.name)) {
                    continue;
                }
                text_line(&event)
            }
            TextItem::Lost { cpu, count } => {
                account.lose(count);
                let count = count.map_or(String::new(), |count| count.to_string());
                format!("CPU:{cpu} [LOST {count} EVENTS]")
            }
            TextItem::Frame(frame) if filter.names.is_empty() => format!(" => {frame}"),
            TextItem::BufferStart { .. } | TextItem::Frame(_) => continue,
        };
        if take(&line).is_break() {
            break;
        }
    }
    account.broken = reader.unknown().lines;
    account.lost += reader.header().overwritten().unwrap_or(0);
    if account.events == 0 {
        return Err(no_trace(path));
    }
    Ok(account)
}

fn text_line(event: &TextEvent) -> String {
    let us = event.at / 1_000;
    let time = match event.unit {
        ClockUnit::Nanos => format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000),
        ClockUnit::Ticks => event.at.to_string(),
    };
    format!(
        "{:>16}-{:<7} [{:03}] {} {time}: {}: {}",
        event.task, event.pid, event.cpu, event.flags, event.name, event.text
    )
}
