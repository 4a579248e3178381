//! Wrong calls of `run` and `move`, and calls without an active partition: exit status, a message of three lines, no
//! changes.
//!
//! Nothing here creates a partition. `lab/src/scenarios/run_move.rs` tests both in a partition on real kernels.

use std::path::Path;
use std::process::{Command, Output};

fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .output()
        .unwrap()
}

fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns cgroup and affinity of this process, which a wrong call might move.
fn place() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"))
        .unwrap();
    format!("{mask} {}", std::fs::read_to_string("/proc/self/cgroup").unwrap())
}

#[test]
fn wrong_arguments_are_usage_errors() {
    let before = place();
    let own = std::process::id().to_string();
    for arguments in [
        &["run"][..],
        &["run", "--policy", "fifo", "--", "true"],
        &["run", "--policy", "deadline:1/2/3", "--", "true"],
        &["run", "--policy", "deadline:3ms/2ms/1ms", "--", "true"],
        &["run", "--nice", "20", "--", "true"],
        &["run", "--pin", "io*", "--", "true"],
        &["run", "--pin", "=2", "--", "true"],
        &["run", "--latency", "5parsecs", "--", "true"],
        &["move"],
        &["move", "--back"],
        &["move", "--children"],
        &["move", "--pid", "x"],
        &["move", "--name", ""],
        &["move", "--name", "io[0-"],
        &["move", "--pid", &own, "--back", "--cpus", "1"],
        &["move", "--pid", &own, "--back", "--pin", "a=1"],
        &["move", "--pid", &own, "--back", "--into", "rt"],
        &["move", "--pid", &own, "--from", "rt"],
        &["move", "--pid", &own, "--policy", "rr:100"],
    ] {
        let output = quietcore(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error_text(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(
            error_text(&output).lines().count() >= 2,
            "{arguments:?}: {}",
            error_text(&output)
        );
    }
    assert_eq!(place(), before);
}

#[test]
fn a_missing_partition_is_an_error_and_changes_nothing() {
    let before = place();
    let own = std::process::id().to_string();
    let marker = tempfile::tempdir().unwrap();
    let touched = marker.path().join("the program ran");
    let touch = ["touch", touched.to_str().unwrap()];
    // Without permission to read the journal the commands report that (3, or 125). With permission they report that the
    // partition does not exist (4, or 125).
    let run = quietcore(&[&["run", "--partition", "not-there", "--"][..], &touch].concat());
    assert_eq!(run.status.code(), Some(125), "{}", error_text(&run));
    let held = [
        &["run", "--partition", "not-there", "--latency", "0us", "--"][..],
        &touch,
    ]
    .concat();
    assert_eq!(quietcore(&held).status.code(), Some(125));
    let moved = quietcore(&["move", "--pid", &own, "--into", "not-there"]);
    assert!(matches!(moved.status.code(), Some(3 | 4)), "{}", error_text(&moved));
    let out = quietcore(&["move", "--pid", &own, "--back", "--from", "not-there", "--json"]);
    assert!(matches!(out.status.code(), Some(3 | 4)), "{}", error_text(&out));
    for output in [&run, &moved, &out] {
        let text = error_text(output);
        assert!(output.stdout.is_empty(), "{text}");
        assert!(
            text.contains("error:") && text.contains("why:") && text.contains("next:"),
            "{text}"
        );
    }
    assert!(!Path::new(&touched).exists(), "the program ran outside the partition");
    assert_eq!(place(), before);
}
