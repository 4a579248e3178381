//! `trace report`: prints the events of a trace in the kernel's own format.

use investigate::event_lines::{EventFilter, event_lines};
use machine::CpuSet;
use root::{Failure, Status};
use session::Session;
use std::ops::ControlFlow;
use std::path::PathBuf;
use terminal::Screen;

/// Arguments of `trace report`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or `trace-cmd report`; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print only events of these CPUs
    #[arg(long, value_name = "CPUS", value_parser = cpu_list)]
    cpus: Option<CpuSet>,
    /// Print only events of this name, such as sched_switch (repeatable)
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
}

fn cpu_list(text: &str) -> Result<CpuSet, String> {
    CpuSet::parse_list(text).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    screen.refuse_json(
        "trace report",
        "it prints events in the kernel's own format",
        "leave --json out; `quietcore trace longest-run` and `max-latency` have it",
    )?;
    let filter = EventFilter {
        cpus: args.cpus.clone(),
        names: args.event.clone(),
    };
    let mut account = None;
    screen.stream(|out| {
        let mut written = Ok(());
        account = Some(event_lines(session, &args.file, &filter, &mut |line| {
            written = writeln!(out, "{}", report::safe_lines(line));
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        }));
        written
    });
    let account = account.transpose()?.unwrap_or_default();
    if let Some(missing) = account.missing() {
        screen.note(&format!("{missing}\n"));
    }
    Ok(Status::Done)
}
