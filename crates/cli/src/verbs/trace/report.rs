//! `trace report`: prints the events of a trace in the kernel's own format.

use events::dat::TraceFile;
use events::text::{TextItem, TextReader};
use events::{Event, Lines, Record, Unit};
use investigate::trace_input::{Account, Trace, no_trace, open, parse, unreadable};
use machine::{CpuId, CpuSet};
use root::{Failure, Status};
use session::Session;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use terminal::Screen;

/// Arguments of `trace report`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or of trace-cmd report; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only events of these CPUs
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuSet>,
    /// Only events of this name (sched_switch); may be given more than once
    #[arg(long, value_name = "NAME")]
    event: Vec<String>,
}

impl Args {
    fn wants_cpu(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(CpuId(cpu)))
    }

    fn wants_event(&self, name: &str) -> bool {
        self.event.is_empty() || self.event.iter().any(|wanted| wanted == name)
    }
}

fn cpu_list(text: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(text).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let account = match open(&args.file)? {
        Trace::Dat(bytes) => of_dat(args, &parse(session, &bytes, &args.file)?, screen),
        Trace::Text(input) => of_text(args, input, &args.file, screen)?,
    };
    if let Some(missing) = account.missing() {
        screen.note(&format!("{missing}\n"));
    }
    Ok(Status::Done)
}

fn of_dat(args: &Args, file: &TraceFile, screen: &mut Screen) -> Account {
    let (formats, wrong) = file.description.formats();
    for (system, error) in &wrong {
        screen.note(&format!("an event of {}: {error}\n", report::safe(system)));
    }
    let (names, comms, correction) = (
        file.description.names(),
        file.description.comms(),
        file.correction(),
    );
    let units: Vec<Unit> = file
        .buffers
        .iter()
        .map(|buffer| Unit::of_clock(&buffer.clock))
        .collect();
    let mut lines: Vec<Lines> = units
        .iter()
        .map(|unit| Lines::new(&formats, &names, &comms, *unit))
        .collect();
    let mut account = Account::default();
    screen.stream(|out| {
        let mut line = String::new();
        for item in file.events() {
            line.clear();
            match item.event {
                Event::Record { cpu, record } => {
                    account.events += 1;
                    let named = formats
                        .common(record.payload)
                        .and_then(|common| formats.get(common.id));
                    let wanted =
                        args.event.is_empty() || named.is_some_and(|format| args.wants_event(&format.name));
                    let (true, true, Some(lines)) = (wanted, args.wants_cpu(cpu), lines.get_mut(item.buffer))
                    else {
                        continue;
                    };
                    let record = Record {
                        at: correction.apply(record.at),
                        ..record
                    };
                    if let Some(buffer) = file
                        .buffers
                        .get(item.buffer)
                        .filter(|buffer| !buffer.name.is_empty())
                    {
                        line.push_str(&buffer.name);
                        line.push_str(": ");
                    }
                    lines.write(&mut line, cpu, &record);
                }
                Event::Lost { cpu, count } => {
                    account.lose(count);
                    line = match count {
                        Some(count) => format!("CPU:{cpu} [LOST {count} EVENTS]"),
                        None => format!("CPU:{cpu} [LOST EVENTS]"),
                    };
                }
                Event::Broken { cpu, error } => {
                    account.broken += 1;
                    line = format!("CPU:{cpu} [A PAGE THAT CANNOT BE READ: {error}]");
                }
            }
            writeln!(out, "{}", report::safe_lines(&line))?;
        }
        Ok(())
    });
    account
}

fn of_text(
    args: &Args,
    input: Box<dyn BufRead>,
    path: &Path,
    screen: &mut Screen,
) -> Result<Account, Failure> {
    let mut reader = TextReader::new(input);
    let mut account = Account::default();
    let mut failed = None;
    screen.stream(|out| {
        loop {
            let line = match reader.next_item() {
                Ok(None) => return Ok(()),
                Ok(Some(TextItem::Event(event))) => {
                    account.events += 1;
                    if !args.wants_cpu(event.cpu) || !args.wants_event(event.name) {
                        continue;
                    }
                    let us = event.at / 1_000;
                    let time = match event.unit {
                        Unit::Nanos => format!("{:>5}.{:06}", us / 1_000_000, us % 1_000_000),
                        Unit::Ticks => event.at.to_string(),
                    };
                    format!(
                        "{:>16}-{:<7} [{:03}] {} {time}: {}: {}",
                        event.task, event.pid, event.cpu, event.flags, event.name, event.text
                    )
                }
                Ok(Some(TextItem::Lost { cpu, count })) => {
                    account.lose(count);
                    format!(
                        "CPU:{cpu} [LOST {} EVENTS]",
                        count.map_or(String::new(), |count| count.to_string())
                    )
                }
                Ok(Some(TextItem::Began { .. })) => continue,
                Ok(Some(TextItem::Frame(frame))) if args.event.is_empty() => format!(" => {frame}"),
                Ok(Some(TextItem::Frame(_))) => continue,
                Err(error) => {
                    failed = Some(error);
                    return Ok(());
                }
            };
            writeln!(out, "{}", report::safe_lines(&line))?;
        }
    });
    if let Some(error) = failed {
        return Err(unreadable(path, &error));
    }
    account.broken = reader.unknown().lines;
    account.lost += reader.header().overwritten().unwrap_or(0);
    if account.events == 0 {
        return Err(no_trace(path));
    }
    Ok(account)
}
