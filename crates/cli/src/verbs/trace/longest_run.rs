//! `trace longest-run`: the article's awk, with its traps taken out.

use super::input::each_step;
use super::{milliseconds, seconds, whose};
use crate::screen::Form;
use crate::{CommandError, Screen, Status};
use blame::LongestRun;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `trace longest-run`.
#[derive(clap::Args)]
pub struct Args {
    /// A trace.dat, or text of ftrace or of trace-cmd report; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only of this thread: its number or its name
    #[arg(long, value_name = "PID|NAME")]
    task: Option<String>,
}

#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    file: String,
    events: u64,
    lost_events: u64,
    not_understood: u64,
    cpus: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    cpu: u32,
    pid: i32,
    comm: String,
    start_ns: u64,
    end_ns: u64,
    length_ns: u64,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let mut longest = LongestRun::of(whose(args.task.as_deref()));
    let account = each_step(&args.file, &mut |step| longest.step(step))?;
    let runs = longest.end();
    match screen.form {
        Form::Json => screen.json(&Answer {
            schema: "quietcore.trace.longest_run/1",
            file: args.file.display().to_string(),
            events: account.events,
            lost_events: account.lost,
            not_understood: account.broken,
            cpus: runs
                .iter()
                .map(|run| Run {
                    cpu: run.cpu,
                    pid: run.pid,
                    comm: run.comm.clone(),
                    start_ns: run.start,
                    end_ns: run.end,
                    length_ns: run.len(),
                })
                .collect(),
        }),
        Form::Text => {
            let longest = runs.iter().max_by_key(|run| run.len());
            match longest {
                Some(run) => screen.text(&format!("Max uninterrupted exec: {}\n", milliseconds(run.len()))),
                None => screen.text("no thread that was asked for ran between two events of one CPU\n"),
            }
            for run in &runs {
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
    }
    if let Some(missing) = account.missing() {
        screen.note(&format!("{missing}\n"));
    }
    Ok(Status::Done)
}
