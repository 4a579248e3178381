//! Checks whether `watch --daemon` wakes or interrupts anything on an isolated CPU. A CPU is isolated, events occur
//! that the daemon receives, reports and serves, and `blame` reports what ran on that CPU.
//!
//! The CPU on which a thread last ran ([`super::cpus_of`]) does not show what the thread causes elsewhere: an interrupt
//! that it sends, work that it queues, a thread that it wakes.

use super::{BenchDaemon, start};
use crate::speed::with;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use xtask::error::{TaskResult, XtaskError};

/// The file that is changed repeatedly. The partition has its own value there.
const MASK: &str = "/proc/irq/default_smp_affinity";

/// The journal of active partitions.
const JOURNAL: &str = "/run/quietcore/journal";

/// Returns whether the daemon caused nothing on the isolated CPU. Effects without kernel events are not detected.
///
/// # Errors
/// The CPU could not be isolated, restored or watched.
pub(super) fn disturbs(binary: &Path, watched: &str, time: Duration) -> TaskResult<bool> {
    let skip = |why: &str| {
        println!("SKIP: what watch --daemon does to an isolated CPU: {why}");
        Ok(true)
    };
    if Path::new(JOURNAL).exists() {
        return skip("a partition stands here, and this would make one");
    }
    if let Err(why) = lab::tracefs::reach() {
        return skip(&why);
    }
    let unisolated = mask()?;
    run(with(binary, &["apply", "--quiet", "--cpus", watched]))?;
    let seen = observe(binary, watched, time, &unisolated);
    let undone = run(with(binary, &["undo", "--quiet"]));
    let (blamed, threads) = seen?;
    undone?;
    if let Some(why) = blamed["no_trace"].as_str() {
        return skip(why);
    }
    let rows = blamed["cpus"][0]["interruptions"].as_array();
    let Some(rows) = rows.filter(|rows| !rows.is_empty()) else {
        return Err(failed("blame", "it saw nothing at all on that CPU"));
    };
    let count = |rows: &[&Value]| rows.iter().filter_map(|row| row["count"].as_u64()).sum::<u64>();
    let is_its = |row: &&Value| {
        let numbers = [&row["culprit"]["pid"], &row["subject"]["thread"]];
        let mut numbers = numbers.into_iter().filter_map(Value::as_u64);
        numbers.any(|number| threads.contains(&number))
    };
    let its: Vec<&Value> = rows.iter().filter(is_its).collect();
    println!(
        "  CPU {watched} isolated for {:.0} s while a setting was changed and metrics were read every second: {} interruptions there, {} by the daemon",
        time.as_secs_f64(),
        count(&rows.iter().collect::<Vec<_>>()),
        count(&its)
    );
    for row in &its {
        println!("    {row}");
    }
    Ok(its.is_empty())
}

/// The report of `blame` for the CPU, and the threads of the daemon.
fn observe(binary: &Path, watched: &str, time: Duration, unisolated: &str) -> TaskResult<(Value, BTreeSet<u64>)> {
    let port = free_port()?;
    let declared = format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n");
    let daemon = start(binary, &format!("--cpus {watched}"), &declared)?;
    // Skips the work that follows the start.
    std::thread::sleep(Duration::from_secs(3));
    let words = ["blame", "--json", "--cpus", watched, "--for"];
    let mut blame = with(binary, &words);
    blame.arg(format!("{}ms", time.as_millis()));
    let child = blame
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed("blame", &error.to_string()))?;
    let start_time = Instant::now();
    while start_time.elapsed() < time {
        cause_events(port, unisolated)?;
    }
    let output = child
        .wait_with_output()
        .map_err(|error| failed("blame", &error.to_string()))?;
    let blamed = serde_json::from_slice(&output.stdout).map_err(|error| {
        let why = format!("status {:?}: {error}", output.status.code());
        failed("blame", &why)
    })?;
    check_reported(&daemon)?;
    Ok((blamed, threads_of(daemon.child.id())))
}

/// Changes a setting and changes it back, and reads the metrics as a client.
fn cause_events(port: u16, unisolated: &str) -> TaskResult {
    let isolated = mask()?;
    let write = |mask: &str| std::fs::write(MASK, mask).map_err(XtaskError::file(Path::new(MASK)));
    write(unisolated)?;
    std::thread::sleep(Duration::from_millis(500));
    write(&isolated)?;
    let read = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(|error| failed("watch --daemon", &error.to_string()))?;
    if !text.contains("quietcore_isolated_cpu") {
        return Err(failed("watch --daemon", "it served no metrics"));
    }
    std::thread::sleep(Duration::from_millis(500));
    Ok(())
}

/// Checks that the daemon reported the events: a daemon that did not detect them disturbs nothing and proves nothing.
fn check_reported(daemon: &BenchDaemon) -> TaskResult {
    let log = daemon.dir.join("log");
    let text = read_to_string(&log).map_err(XtaskError::file(&log))?;
    match text.contains(MASK) {
        true => Ok(()),
        false => Err(failed(
            "watch --daemon",
            "it did not tell of the setting that was changed",
        )),
    }
}

fn mask() -> TaskResult<String> {
    let path = Path::new(MASK);
    let text = read_to_string(path).map_err(XtaskError::file(path))?;
    Ok(text.trim().to_owned())
}

fn threads_of(pid: u32) -> BTreeSet<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = tasks.into_iter().flatten().flatten().map(|task| task.file_name());
    names.filter_map(|name| name.to_string_lossy().parse().ok()).collect()
}

fn free_port() -> TaskResult<u16> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    Ok(address
        .map_err(|error| failed("a port of 127.0.0.1", &error.to_string()))?
        .port())
}

fn run(mut command: Command) -> TaskResult {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed("quietcore", &error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed("quietcore", &String::from_utf8_lossy(&output.stderr))),
    }
}

fn failed(program: &str, why: &str) -> XtaskError {
    XtaskError::Program {
        program: program.into(),
        why: why.to_owned(),
    }
}
