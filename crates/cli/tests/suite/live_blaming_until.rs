//! `blame --break`: the run ends at the first gap that is long enough and shows it. Also `blame` without permission to
//! trace, which reports counters instead.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use crate::support::traced::{check_accounts, disturbed, tracing};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long the disturber takes the CPU.
const TAKES: Duration = Duration::from_millis(20);

fn blame(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command.args(["--json", "blame", "--cpus", &cpu()]).args(args);
    command
}

fn answer(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    document(&output.stdout).unwrap_or_else(|_| panic!("{:?}: {message}", output.status))
}

#[test]
fn the_first_long_gap_ends_the_run_and_is_shown_with_its_events() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: the_first_gap_that_is_so_long_ends_the_run: {why}");
    }
    let began = Instant::now();
    let (output, _) = disturbed(Duration::from_millis(50), TAKES, || {
        blame(&["--for", "300s", "--break", "1ms"]).output().unwrap()
    });
    let took = began.elapsed();
    assert_eq!(output.status.code(), Some(1));
    assert!(took < Duration::from_secs(300), "it ends at the gap: {took:?}");
    let answer = answer(&output);
    check_accounts(&answer["cpus"][0]);
    let found = &answer["found"];
    let length = found["duration_ns"].as_u64().unwrap();
    assert!(length >= 1_000_000, "{found}");
    let pieces = found["pieces"].as_array().unwrap();
    let sum: u64 = pieces.iter().map(|piece| piece["duration_ns"].as_u64().unwrap()).sum();
    assert_eq!(sum, length, "{found}");
    let events = found["events"].as_array().unwrap();
    assert!(events.len() <= 40, "{}", events.len());
    assert!(
        events
            .iter()
            .any(|event| event.as_str().unwrap().contains("sched_switch")),
        "{found}"
    );
}

#[test]
fn without_a_long_gap_the_run_is_ordinary() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: without_a_long_gap_the_run_is_ordinary: {why}");
    }
    let output = blame(&["--for", "300ms", "--break", "100s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(answer(&output)["found"].is_null());
}

#[test]
fn the_first_long_gap_of_a_program_ends_the_run_too() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: the_first_long_gap_of_a_command_or_a_process: {why}");
    }
    let mut spinner = Command::new("/bin/sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let pid = spinner.id().to_string();
    let ((of_command, of_process), _) = disturbed(Duration::from_millis(100), TAKES, || {
        let of_process = blame(&["--for", "300s", "--break", "1ms", "--pid", &pid]).output();
        let own = [
            "--for",
            "300s",
            "--break",
            "1ms",
            "--",
            "/bin/sh",
            "-c",
            "while :; do :; done",
        ];
        let of_command = blame(&own).output();
        (of_command, of_process)
    });
    spinner.kill().unwrap();
    spinner.wait().unwrap();
    for output in [of_command.unwrap(), of_process.unwrap()] {
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        let answer = answer(&output);
        check_accounts(&answer["cpus"][0]);
        assert_eq!(answer["program"]["until"], "found");
        let found = &answer["found"];
        let length = found["duration_ns"].as_u64().unwrap();
        assert!(length >= 1_000_000, "{found}");
        let pieces = found["pieces"].as_array().unwrap();
        let sum: u64 = pieces.iter().map(|piece| piece["duration_ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, length, "{found}");
        let events = found["events"].as_array().unwrap();
        let shows = |what: &str| events.iter().any(|event| event.as_str().unwrap().contains(what));
        assert!(shows("sched_switch"), "{found}");
    }
}

#[test]
fn without_permission_to_trace_there_are_counts_but_no_times() {
    let _alone = alone();
    // SAFETY: `getuid` cannot fail.
    if unsafe { libc::getuid() } != 0 {
        return println!(
            "SKIP: without_permission_to_trace_there_are_counts_but_no_times: only root can become another user"
        );
    }
    let output = blame(&["--for", "1s"]).uid(65_534).gid(65_534).output().unwrap();
    let answer = answer(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(answer["no_trace"].is_string(), "{answer}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("only counters are used") && message.contains("next:"),
        "{message}"
    );
    let cpu = &answer["cpus"][0];
    check_accounts(cpu);
    let rows = cpu["interruptions"].as_array().unwrap();
    assert!(
        rows.iter()
            .any(|row| row["class"] == "tick" && row["count"].as_u64() > Some(0)),
        "{cpu}"
    );
    assert!(rows.iter().all(|row| row["confidence"] == "counted"), "{cpu}");
}
