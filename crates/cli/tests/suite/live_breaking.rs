//! `measure --break` on this machine: the trace stops at the first sample over the limit and is kept. Nothing else is
//! left behind, even if the tool is killed. Each test has its own `/run`.

use crate::support::alone::{alone, cpu, until_over};
use crate::support::schemas::document;
use crate::support::traced::{instances, tracing};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn measure(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command
        .arg("measure")
        .args(&args[..1])
        .args(["--cpus", &cpu(), "--json"])
        .args(&args[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn result(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"))
}

fn finding(result: &Value, id: &str) -> Option<Value> {
    let findings = result["findings"].as_array().unwrap();
    findings.iter().find(|note| note["id"] == id).cloned()
}

/// Runs `run` while a thread sleeps and wakes, so that a quiet machine has something to trace as well.
fn stirred<T>(run: impl FnOnce() -> T) -> T {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        until_over(&ended, run)
    })
}

/// Whether the line is an event of an interrupt: the third flag says so (`trace_print_lat_fmt`).
fn is_of_interrupt(line: &str) -> bool {
    let flags = line.split("] ").nth(1).and_then(|rest| rest.split_whitespace().next());
    flags.is_some_and(|flags| matches!(flags.as_bytes().get(2), Some(b'h' | b'H' | b's' | b'z' | b'Z')))
}

/// Checks that the trace has the marker with its value, events before it, and few after it.
fn is_frozen(text: &str, value_ns: &Value, what: &str) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let marker = lines.iter().position(|line| line.contains("quietcore: CPU "));
    let marker = marker.unwrap_or_else(|| panic!("no marker in {} lines", lines.len()));
    let line = lines[marker];
    assert!(line.contains(&format!("CPU {} {what}", cpu())), "{line}");
    assert!(line.contains(", limit 1 ns, seen at "), "{line}");
    let value: u64 = line
        .split(" ns")
        .next()
        .unwrap()
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // A gap in ticks is converted twice: with the calibration, and with the slope of the whole run.
    assert!(
        value.abs_diff(value_ns.as_u64().unwrap()) <= 1 + value / 100,
        "{line}, {value_ns}"
    );
    assert!(marker > 10, "what was before it: {marker} lines");
    let column = format!("[{:0>3}]", cpu());
    let behind = lines[marker + 1..]
        .iter()
        .copied()
        .filter(|line| line.contains(&column));
    // The CPU serves what is pending between the two system calls that write the marker and stop the trace.
    let (of_interrupts, of_threads): (Vec<&str>, Vec<&str>) = behind.partition(|line| is_of_interrupt(line));
    let entries = of_interrupts.iter().filter(|line| line.contains("_entry: ")).count();
    assert!(of_threads.len() < 5, "the trace went on: {of_threads:#?}");
    assert!(entries <= 4, "the trace went on: {of_interrupts:#?}");
    assert!(lines.iter().any(|line| line.contains("sched_switch: ")));
    // The trace and the marker use the same clock.
    let seconds = |text: &str| text.parse::<f64>().unwrap();
    let seen = seconds(line.rsplit("seen at ").next().unwrap().split(' ').next().unwrap());
    let stamp = line.split(": ").next().unwrap().rsplit(' ').next().unwrap();
    assert!((seconds(stamp) - seen).abs() < 0.05, "{line}");
}

#[test]
fn the_trace_stops_at_the_sample_and_is_saved_next_to_the_result() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: the_trace_stops_at_the_sample: {why}"),
    };
    let dir = tempfile::tempdir().unwrap();
    let before = instances(&tracefs);
    for (kind, what) in [("latency", "woke "), ("noise", "had a gap of ")] {
        let out = dir.path().join("result.json");
        let output = stirred(|| {
            measure(&[kind, "--for", "30s", "--break", "1ns", "--out"])
                .arg(&out)
                .output()
                .unwrap()
        });
        assert_eq!(
            output.status.code(),
            Some(1),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let result = result(&output);
        let note = finding(&result, "trace_frozen").unwrap_or_else(|| panic!("{}", result["findings"]));
        let path = out.with_extension("trace");
        assert_eq!(note["subject"], path.to_str().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        is_frozen(&text, &result["broke"]["value_ns"], what);
        // The result file has the same finding.
        let kept: Value = document(fs::read(&out).unwrap()).unwrap();
        assert_eq!(finding(&kept, "trace_frozen"), Some(note));
        assert_eq!(instances(&tracefs), before);
    }
    // Without a file the trace is kept in `/run`, until the next boot. A run without a break keeps none.
    measure(&["latency", "--for", "30s", "--break", "1ns"])
        .output()
        .unwrap();
    assert!(
        fs::read_to_string("/run/quietcore/break.trace")
            .unwrap()
            .contains("quietcore: CPU ")
    );
    let named = dir.path().join("named");
    let output = measure(&["latency", "--for", "300ms", "--break", "1h", "--trace-out"])
        .arg(&named)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!named.exists() && finding(&result(&output), "trace_frozen").is_none());
    assert_eq!(instances(&tracefs), before);
    assert!(!Path::new("/run/quietcore/tracing").exists());
}

/// The next measurement, or `undo`, removes what a killed run left behind.
#[test]
fn the_trace_of_a_killed_run_is_removed() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: the_trace_of_a_killed_run_is_removed: {why}"),
    };
    let before = instances(&tracefs);
    let undo = || Command::new(env!("CARGO_BIN_EXE_quietcore")).arg("undo").output();
    let again = || measure(&["latency", "--for", "100ms", "--break", "1h"]).output();
    let ways: [&dyn Fn() -> std::io::Result<Output>; 2] = [&undo, &again];
    for way in ways {
        let mut child = measure(&["noise", "--for", "60s", "--break", "1h"]).spawn().unwrap();
        let name = format!("quietcore-{}", child.id());
        let began = Instant::now();
        let on = tracefs.file(&format!("instances/{name}/tracing_on"));
        while fs::read_to_string(&on).is_ok_and(|on| on.trim() != "1") || !Path::new(&on).exists() {
            assert!(began.elapsed() < Duration::from_secs(30), "no trace began");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(instances(&tracefs).contains(&name), "it was killed with its trace");
        let output = way().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(instances(&tracefs), before);
    }
}
