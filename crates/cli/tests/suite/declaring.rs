//! Declared partitions: what `plan` and `apply --dry-run` make of a user's file.
//!
//! Nothing is changed here. `lab/src/scenarios/declared.rs` tests the other commands on real kernels.

use crate::support::schemas::document;
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

/// A captured machine with eight CPUs.
fn machine() -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
    top.join("8x86-2p2c2t-v2-7.tar.gz").display().to_string()
}

fn file(dir: &tempfile::TempDir, text: &str) -> String {
    let path = dir.path().join("declared.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn every_declared_partition_is_planned_on_a_captured_machine() {
    let dir = tempfile::tempdir().unwrap();
    let config = file(
        &dir,
        "[[partition]]\nname = \"a\"\ncpus = \"5\"\n\n[[partition]]\nname = \"b\"\ncount = 1\nprofile = \"minimal\"\n",
    );
    let root = machine();
    let output = quietcore(&["plan", "--root", &root, "--config", &config, "--json"]);
    assert!(output.status.success(), "{}", error_text(&output));
    let printed: serde_json::Value = document(&output.stdout).unwrap();
    let plans = printed["plans"].as_array().unwrap();
    let isolated: Vec<&str> = plans.iter().map(|plan| plan["isolated"].as_str().unwrap()).collect();
    assert_eq!((isolated.len(), isolated[0]), (2, "5"));
    assert_ne!(isolated[1], "5", "what is named for one is not chosen for another");
    let housekeeping = plans[1]["housekeeping"].as_str().unwrap();
    let left = quietcore(&["cpus", housekeeping, "--root", &root]);
    assert!(left.status.success());

    let one = quietcore(&[
        "plan",
        "--root",
        &root,
        "--config",
        &config,
        "--partition",
        "a",
        "--json",
    ]);
    let printed: serde_json::Value = document(&one.stdout).unwrap();
    assert_eq!(
        printed["isolated"], "5",
        "one plan has the form that one plan always has"
    );
}

#[test]
fn invalid_declarations_are_reported_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = machine();
    for (text, line, words) in [
        ("[[partition]]\ncpus = \"5-\"\n", 1, "the CPU expression cannot be used"),
        ("\n[[partition]]\ncpus = \"0\"\n", 2, "CPU 0 cannot be isolated"),
        ("[[partition]]\ncpus = \"999\"\n", 1, "does not exist"),
        (
            "[[partition]]\ncpus = \"5\"\n[[partition]]\nname = \"b\"\ncpus = \"5-6\"\n",
            3,
            "CPU 5 is already declared for partition rt",
        ),
        (
            "[[partition]]\ncpus = \"0x20\"\n[[partition]]\nname = \"b\"\ncpus = \"5\"\n",
            3,
            "CPU 5 is declared for two partitions",
        ),
        ("[[partition]]\nnear = \"no-such-device\"\n", 1, "there is no device"),
        (
            "[[partition]]\ncpus = \"5\"\nirq_here = [\"nobody*\"]\n",
            1,
            "no interrupt matches",
        ),
        (
            "[[partition]]\ncpus = \"5\"\nwith = [\"owner=ana\"]\n",
            3,
            "owner cannot be `ana`",
        ),
        (
            "[[partition]]\ncpus = \"5\"\ncolour = \"red\"\n",
            3,
            "unknown field `colour`",
        ),
    ] {
        let config = file(&dir, text);
        let output = quietcore(&["plan", "--root", &root, "--config", &config]);
        assert_eq!(output.status.code(), Some(2), "{text}: {}", error_text(&output));
        let place = format!("error: {config}:{line}: ");
        assert!(
            error_text(&output).starts_with(&place) && error_text(&output).contains(words),
            "{text}: {}",
            error_text(&output)
        );
        assert_eq!(
            error_text(&output).lines().count(),
            3,
            "{text}: {}",
            error_text(&output)
        );
    }
}

#[test]
fn missing_files_and_contradictory_arguments_are_usage_errors() {
    let dir = tempfile::tempdir().unwrap();
    let config = file(&dir, "[[partition]]\ncpus = \"5\"\n");
    let missing = dir.path().join("missing").display().to_string();
    let folder = dir.path().display().to_string();
    for arguments in [
        &["apply", "--config", &missing][..],
        &["apply", "--config", &folder],
        &["apply", "--config", "/dev/zero"],
        &["apply", "--config", &config, "--cpus", "5"],
        &["apply", "--config", &config, "--partition", "other"],
        &["apply", "--at-boot", "--cpus", "5"],
        &["apply", "--at-boot", "--save"],
        &["apply", "--at-boot", "--dry-run"],
        &["apply", "--good-after", "1s"],
        &["apply", "--install-unit", "upstart"],
        &["apply", "--cpus", "1", "--owner", "nobody at all"],
        &["undo", "--at-boot", "--all"],
    ] {
        let output = quietcore(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error_text(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
