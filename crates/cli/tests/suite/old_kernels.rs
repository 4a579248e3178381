//! Captured machines with a kernel older than quietcore supports: every read-only command warns.

use crate::support::boot_files::{captured, with};
use crate::support::schemas::document;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Creates a captured machine with four CPUs and this kernel.
fn machine(release: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    captured(dir.path());
    for name in ["online", "possible", "present"] {
        let path = dir.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(name), "0-3\n").unwrap();
    }
    std::fs::write(dir.path().join("proc/cmdline"), "root=/dev/sda1 isolcpus=3\n").unwrap();
    with(dir.path(), "proc/sys/kernel/osrelease", &format!("{release}\n"))
}

fn run(root: &Path, words: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(words)
        .output()
        .unwrap();
    assert_ne!(output.status.code(), Some(70), "{words:?} of {}", root.display());
    output
}

#[test]
fn every_command_that_reads_an_old_machine_warns() {
    let old = machine("3.10.0-1160.el7.x86_64");
    let new = machine("4.14.336");
    let commands: &[&[&str]] = &[
        &["inspect"],
        &["plan", "--cpus", "3"],
        &["check", "--for", "0s"],
        &["cpus", "all"],
        &["explain", "rcuc/2"],
        &["explain", "--cmdline"],
        &["boot", "show"],
        &["boot", "check"],
    ];
    for (tree, warned) in [(&old, true), (&new, false)] {
        let root = tree.path().to_str().unwrap();
        for words in commands {
            let words: Vec<&str> = words.iter().copied().chain(["--root", root]).collect();
            let text = String::from_utf8_lossy(&run(tree.path(), &words).stderr).into_owned();
            assert_eq!(text.contains("(kernel-unsupported)"), warned, "{words:?}: {text}");
        }
        let output = run(tree.path(), &["diff", root, root]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            text.contains("kernel 3.10.0-1160.el7.x86_64 is older than 4.14"),
            warned,
            "{text}"
        );
    }
}

#[test]
fn plan_and_check_report_an_old_kernel_as_a_finding() {
    let old = machine("3.10.0-1160.el7.x86_64");
    let root = old.path().to_str().unwrap();
    for words in [&["plan", "--cpus", "3"] as &[&str], &["check", "--for", "0s"]] {
        let words: Vec<&str> = words.iter().copied().chain(["--json", "--root", root]).collect();
        let output = run(old.path(), &words);
        let json: Value = document(&output.stdout).unwrap();
        let findings = json["findings"].as_array().unwrap();
        let one = findings.iter().find(|one| one["id"] == "kernel-unsupported");
        assert_eq!(
            one.map(|one| &one["level"]),
            Some(&"warning".into()),
            "{words:?}: {json}"
        );
    }
}
