//! Measures how many events of a trace are decoded per second, compared with trace-cmd and awk on the same trace.
//!
//! Decoding is compared with the report of trace-cmd. The search for the longest run is compared with awk on the text
//! of all events, which is prepared in advance at no cost to awk. Times are CPU times: other load on the machine does
//! not count, and each tool uses a single core.

use crate::speed::{CommandCost, measured};
use std::path::Path;
use std::process::{Command, Stdio};
use xtask::error::{TaskResult, XtaskError, output, target_dir, top};

/// Number of events in the generated trace.
const EVENTS: &str = "5000000";
/// Runs of each command. The fastest counts.
const RUNS: usize = 5;
/// An awk program for the longest run of a task, as `trace longest-run` finds it: the same task at two consecutive
/// events of a CPU, considering task switches.
const LONGEST: &str = r#"match($0, / \[[0-9]+\] /) {
    pid = substr($0, 1, RSTART - 1); sub(/.*-/, "", pid)
    cpu = substr($0, RSTART + 2, RLENGTH - 4)
    split(substr($0, RSTART + RLENGTH), part, " ")
    now = part[2]; gsub(/[.:]/, "", now)
    if (pid + 0 == runs[cpu] && now - last[cpu] > most) { most = now - last[cpu]; whose = pid }
    last[cpu] = now; runs[cpu] = pid + 0
    if (part[3] == "sched_switch:" && match($0, /next_pid=[0-9]+/)) runs[cpu] = substr($0, RSTART + 9, RLENGTH - 9) + 0
}
END { print most, whose }"#;
/// An awk program for the longest time between two lines of any CPU. It does less than required and shows the minimum
/// cost of awk.
const BETWEEN: &str =
    "{ now = $4; gsub(/[.:]/, \"\", now); if (last && now - last > most) most = now - last; last = now }
    END { print most }";

/// Runs the benchmark and prints the table.
pub(crate) fn run() -> TaskResult {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args([
        "build",
        "--quiet",
        "--release",
        "--locked",
        "-p",
        "events",
        "-p",
        "quietcore",
        "--bin",
        "quietcore",
        "--example",
        "trace_speed",
    ]);
    output(build.current_dir(top()))?;
    let program = target_dir().join("release/examples/trace_speed");
    let dir = target_dir().join("bench-traces");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    let (trace, text) = (dir.join("trace.dat"), dir.join("trace.txt"));
    let recorded = top().join("fixtures/trace-dat/events.v6.dat");
    output(Command::new(&program).arg("make").args([&recorded, &trace]).arg(EVENTS))?;
    let into = std::fs::File::create(&text).map_err(XtaskError::file(&text))?;
    let mut writing = Command::new(&program);
    let written = writing.arg("text").arg(&trace).stdout(into).status();
    written.map_err(XtaskError::file(&program))?;
    let decoded = output(Command::new(&program).arg("decode").arg(&trace))?;
    let events: f64 = decoded
        .split(' ')
        .next()
        .and_then(|count| count.parse().ok())
        .unwrap_or(0.0);
    println!("a trace of {events} events (sched, irq, timer, workqueue), the fastest of {RUNS} runs, time of one CPU:");
    let ours = line("decoded, every field (5 M/s wanted)", events, None, || {
        with(&program, &["decode"], &trace)
    })?;
    line("as the kernel's own text", events, ours, || {
        with(&program, &["text"], &trace)
    })?;
    line("trace-cmd report (10 times wanted)", events, ours, || {
        with(Path::new("trace-cmd"), &["report", "-N", "-i"], &trace)
    })?;
    let product = target_dir().join("release/quietcore");
    let longest = line("trace longest-run", events, None, || {
        with(&product, &["--json", "trace", "longest-run"], &trace)
    })?;
    line("awk's longest run in the text (50 wanted)", events, longest, || {
        with(Path::new("awk"), &[LONGEST], &text)
    })?;
    line("awk, time between lines alone", events, longest, || {
        with(Path::new("awk"), &[BETWEEN], &text)
    })?;
    println!("  {}", agreement(&product, &trace, &text)?);
    std::fs::remove_dir_all(&dir).map_err(XtaskError::file(&dir))
}

/// Whether awk finds the same run. Its text has microsecond resolution.
fn agreement(product: &Path, trace: &Path, text: &Path) -> TaskResult<String> {
    let ours = output(&mut with(product, &["--json", "trace", "longest-run"], trace))?;
    let ours: serde_json::Value = serde_json::from_str(&ours).unwrap_or_default();
    let cpus = ours["cpus"].as_array().map_or(&[] as &[_], Vec::as_slice);
    let longest = cpus.iter().max_by_key(|run| run["length_ns"].as_u64());
    let (ours_us, pid) = longest.map_or((0, 0), |run| {
        let length_ns = run["length_ns"].as_u64().unwrap_or_default();
        (length_ns / 1000, run["pid"].as_u64().unwrap_or_default())
    });
    let awk = output(&mut with(Path::new("awk"), &[LONGEST], text))?;
    let mut words = awk.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (awk_us, program_name) = (words.next().flatten(), words.next().flatten());
    let same = awk_us.is_some_and(|us| us.abs_diff(ours_us) <= 1) && program_name == Some(pid);
    Ok(format!(
        "the longest run: {ours_us} us of task {pid}; awk's answer is {}",
        if same { "the same" } else { "ANOTHER" }
    ))
}

fn with(program: &Path, words: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(words).arg(file);
    command
}

/// Prints one row and returns its rate in events per second. `ours` is the rate to compare with.
fn line(name: &str, events: f64, ours: Option<f64>, command: impl Fn() -> Command) -> TaskResult<Option<f64>> {
    let program = command().get_program().to_owned();
    if Command::new(&program)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_err()
    {
        println!("  {name:<42} absent: there is no {}", program.display());
        return Ok(None);
    }
    let mut best: Option<CommandCost> = None;
    for _ in 0..RUNS {
        let cost = measured(&mut command())?;
        if best.as_ref().is_none_or(|best| cost.cpu() < best.cpu()) {
            best = Some(cost);
        }
    }
    let Some(best) = best else { return Ok(None) };
    let rate = events / best.cpu().as_secs_f64().max(1e-6);
    let times = ours.map_or(String::new(), |ours| {
        format!(", ours is {:.1} times as fast", ours / rate)
    });
    println!(
        "  {name:<42} {:>8.2} M events/s, {:>6.1} MiB{times}",
        rate / 1e6,
        best.peak_kib as f64 / 1024.0
    );
    Ok(Some(rate))
}
