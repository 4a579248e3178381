//! `trace max-latency`: how long threads waited for their CPU, which people read out of `sched_switch` lines by eye.

use super::input::each_step;
use super::{milliseconds, seconds, whose};
use crate::screen::Form;
use crate::{CommandError, Screen, Status};
use blame::LongestWaits;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `trace max-latency`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or of trace-cmd report; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only of this thread: its number or its name
    #[arg(long, value_name = "PID|NAME")]
    task: Option<String>,
    /// So many, longest first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    most: u16,
}

#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    file: String,
    events: u64,
    lost_events: u64,
    not_understood: u64,
    waits: Vec<Wait>,
}

#[derive(Serialize)]
struct Wait {
    cpu: u32,
    pid: i32,
    comm: String,
    start_ns: u64,
    end_ns: u64,
    length_ns: u64,
    taken_by: Option<Taker>,
}

#[derive(Serialize)]
struct Taker {
    pid: i32,
    comm: String,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let mut longest = LongestWaits::of(whose(args.task.as_deref()), usize::from(args.most));
    let account = each_step(&args.file, &mut |step| longest.step(step))?;
    let waits = longest.end();
    match screen.form {
        Form::Json => screen.json(&Answer {
            schema: "quietcore.trace.max_latency/1",
            file: args.file.display().to_string(),
            events: account.events,
            lost_events: account.lost,
            not_understood: account.broken,
            waits: waits
                .into_iter()
                .map(|wait| Wait {
                    cpu: wait.cpu,
                    pid: wait.pid,
                    start_ns: wait.start,
                    end_ns: wait.end,
                    length_ns: wait.len(),
                    comm: wait.comm,
                    taken_by: wait.taken_by.map(|(pid, comm)| Taker { pid, comm }),
                })
                .collect(),
        }),
        Form::Text => {
            if waits.is_empty() {
                screen.text("nobody who was asked for waited for a CPU; the trace needs sched_switch events\n");
            }
            for wait in &waits {
                let how = match &wait.taken_by {
                    Some((pid, comm)) => format!("while {}[{pid}] had it", report::safe(comm)),
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
