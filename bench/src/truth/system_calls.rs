//! Counts system calls per wake-up with strace, for one second of a run. strace distorts all times, so this run is not
//! used for anything else.

use super::running::{RunLocation, start};
use super::tools::BenchTool;
use super::watched;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The system call of a wake-up in tools that sleep until an absolute time, as strace names it.
const SLEEP: &str = "clock_nanosleep";

/// The number of calls of all threads per sleep. The error is the reason why it is unknown.
pub(crate) fn per_wake_up(place: &RunLocation, tool: &BenchTool) -> Result<f64, String> {
    let (run, started) = start(place, tool, 3)?;
    std::thread::sleep(tool.start_delay);
    let counts = run.folder.join("calls");
    let mut strace = Command::new("strace")
        .args(["-c", "-f", "-o"])
        .arg(&counts)
        .args(
            watched::family(started.id())
                .iter()
                .flat_map(|pid| ["-p".to_owned(), pid.to_string()]),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("strace: {error} (apt-get install strace)"))?;
    std::thread::sleep(Duration::from_secs(1));
    // SAFETY: a plain call; the child is ours and not reaped yet.
    unsafe { libc::kill(strace.id() as libc::pid_t, libc::SIGINT) };
    let _ = strace.wait();
    let text = std::fs::read_to_string(&counts).map_err(|error| format!("strace: {error}"))?;
    calls_for_each_sleep(&text).ok_or_else(|| "strace counted no sleeps".into())
}

/// Parses the table of `strace -c`: `% TIME SECONDS USECS CALLS [ERRORS] NAME`.
fn calls_for_each_sleep(table: &str) -> Option<f64> {
    let calls = |name: &str| {
        let row = table
            .lines()
            .find(|line| line.split_whitespace().last() == Some(name))?;
        row.split_whitespace().nth(3)?.parse::<f64>().ok()
    };
    let sleeps = calls(SLEEP).filter(|&sleeps| sleeps > 0.0)?;
    Some(calls("total")? / sleeps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_are_divided_by_the_number_of_sleeps() {
        let table = "% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 99.00    0.010000          10      1000           clock_nanosleep
  1.00    0.000100          10        10         2 futex
------ ----------- ----------- --------- --------- ----------------
100.00    0.010100          10      1010         2 total
";
        assert_eq!(calls_for_each_sleep(table), Some(1.01));
        assert_eq!(calls_for_each_sleep(&table.replace("nanosleep", "x")), None);
        assert_eq!(calls_for_each_sleep(""), None);
    }
}
