//! Shared parts of `longest-run` and `max-latency`: the thread filter, and the trace quality in the JSON result.

use blame::{ThreadFilter, ThreadPeriod};
use investigate::trace_input::TraceStatistics;
use serde::Serialize;
use std::path::Path;

/// Which threads.
#[derive(clap::Args)]
pub struct ThreadArgs {
    /// Consider only threads with this number or name [default: all threads]
    #[arg(long, value_name = "PID|NAME")]
    pub task: Option<String>,
}

impl ThreadArgs {
    /// Matches a thread by its number, or threads by their name.
    pub fn filter(&self) -> ThreadFilter {
        match &self.task {
            None => ThreadFilter::Any,
            Some(task) => task
                .parse()
                .map_or_else(|_| ThreadFilter::Comm(task.clone()), ThreadFilter::Pid),
        }
    }
}

/// JSON result: the trace, its completeness, and the findings.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpanReport<F: Serialize> {
    schema: &'static str,
    /// The trace.
    file: String,
    /// Number of events in the trace.
    events: u64,
    /// Events that the kernel dropped.
    lost_events: u64,
    /// Lines or records that could not be decoded.
    not_understood: u64,
    #[serde(flatten)]
    found: F,
}

impl<F: Serialize> SpanReport<F> {
    /// The result for a file.
    pub fn of(schema: &'static str, file: &Path, account: &TraceStatistics, found: F) -> SpanReport<F> {
        SpanReport {
            schema,
            file: file.display().to_string(),
            events: account.events,
            lost_events: account.lost,
            not_understood: account.broken,
            found,
        }
    }
}

/// A time span of a thread.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSpan {
    /// The CPU.
    cpu: u32,
    /// TID of the thread.
    pid: i32,
    /// Name of the thread.
    comm: String,
    /// Its start, on the clock of the trace.
    start_ns: u64,
    /// Its end, on the clock of the trace.
    end_ns: u64,
    /// Its length.
    length_ns: u64,
}

impl ThreadSpan {
    /// Of what was found.
    pub fn of(stretch: &ThreadPeriod) -> ThreadSpan {
        ThreadSpan {
            cpu: stretch.cpu,
            pid: stretch.pid,
            comm: stretch.comm.clone(),
            start_ns: stretch.start,
            end_ns: stretch.end,
            length_ns: stretch.len(),
        }
    }
}
