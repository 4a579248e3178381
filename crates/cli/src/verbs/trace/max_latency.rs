//! `trace max-latency`: reports how long threads waited for their CPU, without reading `sched_switch`
//! lines.

use super::span::{SpanReport, ThreadArgs, ThreadSpan};
use super::{milliseconds, seconds};
use blame::{LongestWaits, ThreadPeriod};
use investigate::latency_trace::{Latency, LatencyQuestion};
use investigate::trace_input::each_step;
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use std::path::PathBuf;
use terminal::{OutputFormat, Screen};

/// Arguments of `trace max-latency`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or `trace-cmd report`; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    thread: ThreadArgs,
    /// Print this many waits, the longest first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    most: u16,
}

/// The longest waits, longest first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LongestWaitsJson<'a> {
    /// `None` for the text of a latency tracer, which does not show all waits.
    waits: Vec<WaitJson>,
    /// The result of a latency tracer, if the file is its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'a Latency>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WaitJson {
    #[serde(flatten)]
    span: ThreadSpan,
    /// The thread that had the CPU first; `None` if the thread was woken.
    taken_by: Option<PreemptorJson>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PreemptorJson {
    /// Its TID.
    pid: i32,
    /// Its name.
    comm: String,
}

/// Runs the command.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let mut longest = LongestWaits::of(args.thread.filter(), usize::from(args.most));
    let account = each_step(session, &args.file, &mut |step| longest.step(step))?;
    let mut waits = longest.end();
    if account.latency.is_some() {
        waits.clear();
    }
    match screen.form {
        OutputFormat::Json => {
            let wait = |wait: ThreadPeriod| WaitJson {
                span: ThreadSpan::of(&wait),
                taken_by: wait.first_runner.map(|(pid, comm)| PreemptorJson { pid, comm }),
            };
            let waits = waits.into_iter().map(wait).collect();
            screen.json(&SpanReport::of(
                "quietcore.trace.max_latency/1",
                &args.file,
                &account,
                LongestWaitsJson {
                    waits,
                    latency: account.latency.as_ref(),
                },
            ));
        }
        OutputFormat::Text => {
            if let Some(latency) = &account.latency {
                screen.text(&latency.text(LatencyQuestion::Wait));
            } else if waits.is_empty() {
                screen.text("none of the selected threads waited for a CPU; the trace needs sched_switch events\n");
            }
            for wait in &waits {
                let how = match &wait.first_runner {
                    Some((pid, comm)) => format!("while {}[{pid}] used the CPU", report::safe(comm)),
                    None => "since it was woken".to_owned(),
                };
                screen.text(&format!(
                    "{:>12}  CPU {:<3} {}[{}] from {}, {how}\n",
                    milliseconds(wait.len()),
                    wait.cpu,
                    report::safe(&wait.comm),
                    wait.pid,
                    seconds(wait.start)
                ));
            }
        }
    }
    if let Some(missing) = account.missing() {
        screen.note(&format!("{missing}\n"));
    }
    Ok(Status::Done)
}
