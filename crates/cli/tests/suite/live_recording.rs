//! `trace record` on this kernel: the file contains the reported events, and other programs can read it.
//!
//! A command is recorded from start to end, lost events are reported, and nothing is left behind.

use crate::support::alone::{alone, cpu};
use crate::support::program::quietcore;
use crate::support::schemas::document;
use crate::support::traced::{instances, tracing};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn record(file: &Path, words: &[&str]) -> Output {
    let file = file.to_str().unwrap();
    quietcore(&[&["--json", "trace", "record", "-o", file], words].concat())
}

fn answer(output: &Output) -> Value {
    document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn report(file: &Path) -> String {
    let output = quietcore(&["trace", "report", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recording_contains_its_events_and_trace_cmd_can_read_it() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: what_was_recorded_is_in_the_file: {why}"),
    };
    let before = instances(&tracefs);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    let output = record(
        &file,
        &[
            "--cpus",
            &cpu(),
            "-e",
            "sched:sched_switch",
            "-e",
            "irq",
            "--",
            "/bin/sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done",
        ],
    );
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let reported = answer(&output);
    assert_eq!(
        (&reported["schema"], &reported["until"]),
        (&"quietcore.trace.record/1".into(), &"ended".into())
    );
    let cpus = reported["cpus"].as_array().unwrap();
    assert_eq!(cpus.len(), 1);
    assert_eq!((cpus[0]["cpu"].to_string(), &cpus[0]["lost"]), (cpu(), &0.into()));
    let recorded = cpus[0]["recorded"].as_u64().unwrap();
    // Each of the ten sleeps is one switch away and one switch back.
    assert!(recorded >= 20, "{reported}");
    let lines = report(&file);
    assert_eq!(lines.lines().count() as u64, recorded);
    let of_cpu = format!("[{:03}]", cpu().parse::<u32>().unwrap());
    assert!(lines.lines().all(|line| line.contains(&of_cpu)), "{lines}");
    assert_eq!(instances(&tracefs), before);
    // The directory contains the file and nothing else.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

    let theirs = Command::new("trace-cmd").args(["report", "-i"]).arg(&file).output();
    match theirs {
        Err(why) => println!("SKIP: trace_cmd_reads_what_was_recorded: trace-cmd: {why}"),
        Ok(theirs) => {
            let text = String::from_utf8_lossy(&theirs.stdout);
            let events = text.lines().filter(|line| line.contains(&of_cpu)).count();
            assert_eq!(events as u64, recorded, "{}", String::from_utf8_lossy(&theirs.stderr));
        }
    }
}

#[test]
fn a_command_is_recorded_from_its_start_to_its_end() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: a_command_is_recorded_from_its_start_to_its_end: {why}"),
    };
    let before = instances(&tracefs);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    let output = record(
        &file,
        &[
            "-e",
            "sched/sched_process_exec",
            "-e",
            "sched/sched_process_exit",
            "--",
            "/bin/sh",
            "-c",
            "exec /bin/true",
        ],
    );
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(answer(&output)["until"], "ended");
    let lines = report(&file);
    let at = |what: &str| lines.lines().position(|line| line.contains(what));
    let (shell, itself) = (at("filename=/bin/sh"), at("filename=/bin/true"));
    assert!(shell.is_some() && shell < itself, "{lines}");
    assert!(
        lines.lines().any(|line| line.contains("sched_process_exit: comm=true")),
        "{lines}"
    );
    assert_eq!(instances(&tracefs), before);
}

#[test]
fn lost_events_are_reported_and_are_no_success() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: lost_events_are_reported_and_are_no_success: {why}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    // Thousands of system calls between two reads overflow a buffer of two pages.
    let busy = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done";
    let output = record(
        &file,
        &[
            "--cpus",
            &cpu(),
            "--buffer",
            "8",
            "-e",
            "raw_syscalls",
            "--",
            "/bin/sh",
            "-c",
            busy,
        ],
    );
    let reported = answer(&output);
    let lost = reported["cpus"][0]["lost"].as_u64().unwrap();
    assert!(lost > 0, "{reported}");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains(&format!("{lost} events")) && message.contains("--buffer 16"),
        "{message}"
    );
}

#[test]
fn impossible_recordings_are_refused_before_anything_is_changed() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => {
            return println!("SKIP: impossible_recordings_are_refused_before_anything_is_changed: {why}");
        }
    };
    let before = instances(&tracefs);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    for (words, status, says) in [
        (["-e", "sched/no_such_event"], 2, "sched/no_such_event"),
        (["--cpus", "4096"], 2, "4096"),
        (["--tracer", "no_such_tracer"], 4, "no_such_tracer"),
        (["--buffer", "1"], 2, "--buffer"),
        (["--clock", "no_such_clock"], 4, "trace_clock"),
    ] {
        let output = record(&file, &[words.as_slice(), &["--for", "100ms"]].concat());
        let message = [output.stdout.as_slice(), &output.stderr].concat();
        let message = String::from_utf8_lossy(&message);
        assert!(message.contains(says), "{words:?}: {message}");
        assert_eq!(output.status.code(), Some(status), "{words:?}: {message}");
        assert!(!file.exists(), "{words:?}");
    }
    let output = record(Path::new("/no/such/folder/trace.dat"), &["--for", "100ms"]);
    assert_eq!(output.status.code(), Some(2));
    let missing = record(&file, &["--for", "1s", "--", "/no/such/program"]);
    assert_eq!(
        missing.status.code(),
        Some(127),
        "{}",
        String::from_utf8_lossy(&missing.stderr)
    );
    assert_eq!(instances(&tracefs), before);
}

#[test]
fn one_command_replaces_the_steps_of_the_article() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: one_command_replaces_the_steps_of_the_article: {why}"),
    };
    let before = instances(&tracefs);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.dat");
    let path = file.to_str().unwrap();
    let cpu = cpu();
    let words = [
        "--json",
        "trace",
        "longest-run",
        "--cpus",
        &cpu,
        "--for",
        "800ms",
        "-o",
        path,
    ];
    let output = quietcore(&[&words[..], &["--", "/bin/sh", "-c", "while :; do :; done"]].concat());
    let reported = answer(&output);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let run = &reported["cpus"][0];
    assert_eq!((&run["cpu"].to_string(), &run["comm"]), (&cpu, &"sh".into()));
    let length_ns = run["length_ns"].as_u64().unwrap();
    // The run cannot be longer than the command. A shell loop executes some instructions between two ticks.
    assert!((1_000..800_000_000).contains(&length_ns), "{reported}");
    // The trace is kept as evidence and gives the same answer again.
    let pid = run["pid"].to_string();
    let again = answer(&quietcore(&["--json", "trace", "longest-run", path, "--task", &pid]));
    assert_eq!(again["cpus"][0], *run);
    assert_eq!(instances(&tracefs), before);

    for words in [
        &["trace", "longest-run"][..],
        &["trace", "longest-run", path, "--cpus", &cpu],
    ] {
        assert_eq!(quietcore(words).status.code(), Some(2), "{words:?}");
    }
}
