//! `blame --functions --hwlat`: a kernel with these tracers adds their results. A kernel without them gives the same
//! answer and names the missing option. Nothing is left behind, and shared settings are restored.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use crate::support::traced::{check_accounts, instances, tracing};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Returns the output and the pid, which is part of the names of its tracing instances.
fn blame(args: &[&str]) -> (Output, u32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command
        .args(args)
        .args(["blame", "--cpus", &cpu(), "--for", "1s", "--functions", "--hwlat", "1s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id();
    (child.wait_with_output().unwrap(), pid)
}

/// The tracers and the kernel options that they need.
const TRACERS: [(&str, &str, &str); 2] = [
    ("functions", "function_graph", "CONFIG_FUNCTION_GRAPH_TRACER"),
    ("hwlat", "hwlat", "CONFIG_HWLAT_TRACER"),
];

#[test]
fn available_tracers_report_and_without_them_the_answer_is_complete() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: tracers_tell_where_the_kernel_has_them: {why}"),
    };
    let available = std::fs::read_to_string(tracefs.file("available_tracers")).unwrap();
    let settings = || {
        let files = [
            "tracing_thresh",
            "current_tracer",
            "tracing_cpumask",
            "trace_clock",
            "max_graph_depth",
            "hwlat_detector/mode",
        ];
        files.map(|file| std::fs::read_to_string(tracefs.file(file)).ok())
    };
    let before = settings();
    let (output, first) = blame(&["--json"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{reported}");
    let answer: Value = document(&output.stdout).unwrap();
    check_accounts(&answer["cpus"][0]);
    for (name, tracer, config) in TRACERS {
        let (by, why) = (&answer[name]["by"], answer[name]["why"].to_string());
        match available.split_whitespace().any(|has| has == tracer) {
            true => assert_eq!(by, tracer, "{why}"),
            false => assert!(by.is_null() && why.contains(config), "{by} {why}"),
        }
    }
    let (output, second) = blame(&[]);
    assert_eq!(output.status.code(), Some(0));
    let text = [output.stdout, output.stderr]
        .map(|text| String::from_utf8(text).unwrap())
        .concat();
    for (name, tracer, config) in TRACERS {
        let is_named = text.contains(config) || available.split_whitespace().any(|has| has == tracer);
        assert!(is_named, "{name} is not named: {text}");
    }
    assert_eq!(settings(), before);
    let ours = [first, second].map(|pid| format!("quietcore-{pid}"));
    let left = instances(&tracefs);
    assert!(
        !left
            .iter()
            .any(|name| ours.iter().any(|own| name.starts_with(own.as_str()))),
        "{left:?}"
    );
}

#[test]
fn tracers_are_refused_for_a_program() {
    for of in [["--pid", "1"], ["--", "true"]] {
        let output = blame_of(&of);
        assert_eq!(output.status.code(), Some(2), "{of:?}");
    }
}

fn blame_of(of: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command.args(["blame", "--functions"]).args(of).output().unwrap()
}
