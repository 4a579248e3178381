//! Runs one measurement in a child of the same program, which prints its result only when it is complete.

use crate::child_output::{ChildOutput, next_part, start};
use machine::CpuSet;
use root::{Failure, Status, process};
use std::io::Read as _;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::Study;

/// A signal that arrives just before we wait is noticed after this time.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// How long a measurement may exceed its duration on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures, and returns the JSON of the result; `None` if it was stopped.
///
/// # Errors
/// The error of the measurement, or that it hangs.
pub fn measure(study: &Study, cpus: &CpuSet, stop: &AtomicBool) -> Result<Option<Vec<u8>>, Failure> {
    let mut command = Command::new("/proc/self/exe");
    command.args(arguments(study, cpus));
    // A change is being made or undone at the same time, so the terminal must not kill it.
    let mut child = start(&mut command).map_err(|error| failed(error.to_string()))?;
    let outcome = listen(&mut child, study.each, stop);
    // Whatever the outcome, nothing of it is left running.
    if outcome.is_err() {
        let _ = child.kill();
    }
    let mut error_text = String::new();
    if let (Ok(_), Some(errors)) = (&outcome, child.stderr.as_mut()) {
        let _ = errors.take(1 << 16).read_to_string(&mut error_text);
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let bytes = outcome?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match status.code() {
        // Status 1 is a result that contains a finding.
        Some(0 | 1) if !bytes.is_empty() => Ok(Some(bytes)),
        _ => Err(failure_from_child(&error_text, status.code())),
    }
}

fn arguments(study: &Study, cpus: &CpuSet) -> Vec<String> {
    let mut words = vec![
        "measure".to_owned(),
        study.what.word().to_owned(),
        "--json".to_owned(),
        "--quiet".to_owned(),
        format!("--cpus={cpus}"),
        format!("--for={}ns", study.each.as_nanos()),
    ];
    words.extend(study.policy.as_ref().map(|policy| format!("--policy={}", policy.text)));
    words.extend(
        study
            .interval
            .as_ref()
            .map(|interval| format!("--interval={}", interval.text)),
    );
    words
}

/// Reads all output until the end. If we are to stop, sends it SIGTERM.
fn listen(child: &mut Child, each: Duration, stop: &AtomicBool) -> Result<Vec<u8>, Failure> {
    let start = Instant::now();
    let pid = child.id();
    let mut bytes = Vec::new();
    let mut end_requested = false;
    let Some(out) = child.stdout.as_mut() else {
        return Err(failed("its output has no pipe".to_owned()));
    };
    loop {
        if stop.load(Ordering::Relaxed) && !end_requested {
            process::send(pid, libc::SIGTERM);
            end_requested = true;
        }
        if start.elapsed() > each.saturating_mul(2).saturating_add(PATIENCE) {
            return Err(failed("it did not end".to_owned()));
        }
        match next_part(out, POLL_INTERVAL).map_err(|error| failed(error.to_string()))? {
            ChildOutput::Nothing => {}
            ChildOutput::Part(part) => bytes.extend(part),
            ChildOutput::Closed => return Ok(bytes),
        }
    }
}

fn failed(why: String) -> Failure {
    Failure::unable(
        "the measurement could not be started",
        why,
        "run the same command again to continue",
    )
}

/// Converts the three lines of the child's error to ours.
fn failure_from_child(error_text: &str, code: Option<i32>) -> Failure {
    let line = |start: &str| {
        error_text
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(start))
            .map(|text| text.trim().to_owned())
    };
    let status = match code {
        Some(2) => Status::Usage,
        Some(3) => Status::Denied,
        Some(5) => Status::Conflict,
        _ => Status::Unable,
    };
    let ended = || match code {
        Some(code) => format!("`measure` ended with status {code} and without a result"),
        None => "`measure` was killed".to_owned(),
    };
    Failure::new(
        status,
        line("error:").unwrap_or_else(|| "the measurement failed".to_owned()),
        line("why:").unwrap_or_else(ended),
        line("next:").unwrap_or_else(|| "run the same command again to continue".to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_child_is_reported_unchanged() {
        let error = failure_from_child(
            "note: x\nerror: no CPU\n  why: it is offline\n next: take another\n",
            Some(2),
        );
        assert_eq!(
            (error.status, error.what.as_str(), error.why.as_str()),
            (Status::Usage, "no CPU", "it is offline")
        );
        assert_eq!(error.next, "take another");
        assert_eq!(failure_from_child("", None).why, "`measure` was killed");
        assert_eq!(failure_from_child("", Some(70)).status, Status::Unable);
    }
}
