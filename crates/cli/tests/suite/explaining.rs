//! `explain --cmdline LINE` without `--kernel`: what is valid on some kernel is not an error, and the assumed kernel is
//! stated.

use crate::support::schemas::document;
use serde_json::Value;
use std::process::Command;

/// Returns the exit status and the report.
fn judged(words: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["explain", "--json"])
        .args(words)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report = document(&*text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"));
    (output.status.code(), report)
}

/// Returns what a refused command writes to standard error.
fn refused(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(words)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_misspelled_word_gets_a_suggestion_wherever_it_is_typed() {
    for (words, meant) in [
        (["explain", "partiton"].as_slice(), "did you mean partition"),
        (&["explain", "irq_afinity"], "did you mean irq_affinity"),
        (&["explain", "check"], "`quietcore check --help` describes the command"),
        (
            &["explain", "boot", "set"],
            "`quietcore boot --help` describes the command",
        ),
        (&["check", "--ignore", "irq-hre:irq/24"], "did you mean irq-here"),
        (&["plan", "--with", "stat_intervall=60"], "did you mean stat_interval"),
        (&["plan", "--profile", "strikt"], "'strict'"),
        (&["aply"], "'apply'"),
    ] {
        let message = refused(words);
        assert!(message.contains(meant), "{words:?}: {message}");
    }
    assert!(!refused(&["explain", "xyzzyxyzzy"]).contains("did you mean"));
}

#[test]
fn a_term_is_explained_in_any_case_and_by_its_json_too() {
    let (status, report) = judged(&["Wake-Up-Latency"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(report["entries"][0]["kind"], "term", "{report}");
    assert_eq!(report["entries"][0]["name"], "wake-up latency", "{report}");
}

/// Returns the public command lines that have no error on their own kernel.
fn right_lines() -> Vec<&'static str> {
    let table = include_str!("../../../../fixtures/boot-lines/lines.toml");
    let entries = table.split("[[line]]").skip(1);
    let right = entries.filter(|entry| !entry.contains("'error "));
    let line = |entry: &'static str| {
        let mut lines = entry.lines().filter_map(|line| line.strip_prefix("line = '"));
        lines.next()?.strip_suffix('\'')
    };
    right.filter_map(line).collect()
}

#[test]
fn a_valid_public_line_has_no_error_on_any_machine() {
    let lines = right_lines();
    assert!(lines.len() > 40, "{}", lines.len());
    for line in lines {
        let (status, report) = judged(&["--cmdline", line, "--cpus", "0-255"]);
        assert_eq!(status, Some(0), "{line}: {report}");
        assert_eq!(
            (&report["kernel"], &report["kernel_assumed"]),
            (&Value::Null, &false.into())
        );
    }
}

#[test]
fn only_an_unspecified_kernel_is_reported_as_assumed() {
    let line = "quiet nohz_full=1 isolcpus=managed_irq,domain,1 rcu_nocbs=1";
    let (_, report) = judged(&["--cmdline", line]);
    assert_eq!(report["kernel_assumed"], true, "{report}");
    assert!(report["kernel"].is_string(), "{report}");
    let (status, report) = judged(&["--cmdline", line, "--kernel", "4.14"]);
    assert_eq!(
        (status, &report["kernel_assumed"]),
        (Some(1), &false.into()),
        "{report}"
    );
    let (_, own) = judged(&["--cmdline"]);
    assert_eq!(own["kernel_assumed"], false, "{own}");
}
