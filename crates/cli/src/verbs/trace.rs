//! `trace`: records and reads traces of any origin: `trace.dat` files and the text of ftrace.

pub(crate) mod longest_run;
pub(crate) mod max_latency;
mod record;
mod report;
pub(crate) mod span;

use clap::Subcommand;
use root::{Failure, Status};
use session::Session;
use terminal::Screen;

/// Arguments of `trace`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: TraceCommand,
}

#[derive(Subcommand)]
enum TraceCommand {
    /// Record kernel events into a trace.dat, for some time or while a command runs
    Record(record::Args),
    /// Print the events of a trace in the kernel's own format
    Report(report::Args),
    /// Find the longest time that a thread ran without a kernel event
    LongestRun(longest_run::Args),
    /// Find the longest times that threads waited for a CPU, and which thread had it
    MaxLatency(max_latency::Args),
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    match &args.what {
        TraceCommand::Record(args) => record::run(args, session, screen),
        TraceCommand::Report(args) => report::run(args, session, screen),
        TraceCommand::LongestRun(args) => longest_run::run(args, session, screen),
        TraceCommand::MaxLatency(args) => max_latency::run(args, session, screen),
    }
}

/// Milliseconds with two decimals, as the articles print them.
fn milliseconds(ns: u64) -> String {
    format!("{:.2}ms", ns as f64 / 1e6)
}

/// Seconds with six decimals, as traces print them.
fn seconds(ns: u64) -> String {
    let us = ns / 1_000;
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}
