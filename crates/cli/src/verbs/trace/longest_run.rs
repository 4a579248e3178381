//! `trace longest-run`: does what the article's awk script does, without its pitfalls.

use super::span::{SpanReport, ThreadArgs, ThreadSpan};
use super::{milliseconds, record, seconds};
use blame::{ThreadFilter, ThreadPeriod};
use investigate::Launch;
use investigate::latency_trace::{Latency, LatencyQuestion};
use investigate::trace_input::{TraceStatistics, longest_runs};
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use std::path::PathBuf;
use terminal::{OutputFormat, Screen};
use tracing::break_trace::EVENTS;

/// Arguments of `trace longest-run`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or `trace-cmd report`; `-` is standard input
    ///
    /// Without FILE, a trace is recorded first, of --cpus or while a command runs.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    // Of a command without it: its first thread.
    #[command(flatten)]
    thread: ThreadArgs,
    #[command(flatten)]
    record: record::Args,
}

/// Events that show how a thread enters the kernel, in addition to those that are always recorded.
const ENTRIES: &[&str] = &["raw_syscalls", "exceptions"];

/// The longest run of each CPU.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LongestRunsJson<'a> {
    /// `None` for the text of a latency tracer, which does not show all runs.
    cpus: Vec<ThreadSpan>,
    /// The result of a latency tracer, if the file is its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'a Latency>,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let mut of = args.thread.filter();
    let (file, mut status) = match (&args.file, args.record.has_definition()) {
        (Some(file), false) => (file.as_path(), Status::Done),
        (None, true) => {
            let usual: Vec<&str> = EVENTS.iter().chain(ENTRIES).copied().collect();
            let recorded = match record::record(session, &args.record, &usual, screen)? {
                Launch::Running(recorded) => recorded,
                Launch::Failed(status) => return Ok(status),
            };
            if let (None, Some(pid)) = (&args.thread.task, recorded.pid) {
                of = ThreadFilter::Pid(pid.cast_signed());
            }
            (args.record.out(), record::status(&args.record, &recorded, screen))
        }
        (file, _) => {
            return Err(Failure::usage(
                "trace longest-run either reads a file or records a trace",
                match file {
                    Some(_) => "a file was given together with CPUs or a command",
                    None => "neither a file nor CPUs or a command was given",
                },
                "quietcore trace longest-run trace.dat, or quietcore trace longest-run --cpus 3 --for 30s -- COMMAND",
            ));
        }
    };
    let (mut runs, account) = longest_runs(session, file, &of)?;
    if account.latency.is_some() {
        runs.clear();
    }
    match screen.form {
        OutputFormat::Json => {
            let cpus = runs.iter().map(ThreadSpan::of).collect();
            screen.json(&SpanReport::of(
                "quietcore.trace.longest_run/1",
                file,
                &account,
                LongestRunsJson {
                    cpus,
                    latency: account.latency.as_ref(),
                },
            ));
        }
        OutputFormat::Text => text(&runs, &account, screen),
    }
    if let Some(missing) = account.missing() {
        screen.note(&format!("{missing}\n"));
        // A given file may be incomplete; a trace that we recorded should be complete.
        if args.file.is_none() {
            status = Status::Failed;
        }
    }
    Ok(status)
}

/// The result as text.
fn text(runs: &[ThreadPeriod], account: &TraceStatistics, screen: &mut Screen) {
    let longest = runs.iter().max_by_key(|run| run.len());
    match (&account.latency, longest) {
        (Some(latency), _) => screen.text(&latency.text(LatencyQuestion::Run)),
        (None, Some(run)) => screen.text(&format!("Max uninterrupted exec: {}\n", milliseconds(run.len()))),
        (None, None) => screen.text("no selected thread ran between two events of one CPU\n"),
    }
    for run in runs {
        screen.text(&format!(
            "  CPU {:<3} {:>12}  {}[{}] from {} to {}\n",
            run.cpu,
            milliseconds(run.len()),
            report::safe(&run.comm),
            run.pid,
            seconds(run.start),
            seconds(run.end)
        ));
    }
    screen.text(&format!("  {} events\n", account.events));
}
