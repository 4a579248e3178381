//! `boot check` as scripts use it: JSON and exit status, on this machine and on a captured one whose kernel reports
//! wrong values.

use crate::support::schemas::document;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn check(more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["boot", "check"])
        .args(more)
        .output()
        .unwrap()
}

fn json(root: &Path) -> (Value, i32) {
    let output = check(&["--json", "--root", root.to_str().unwrap()]);
    let printed = document(&output.stdout).unwrap();
    (printed, output.status.code().unwrap())
}

fn write_file(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn captured(line: &str, isolated: &str, messages: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/cmdline", line),
        ("proc/sys/kernel/osrelease", "6.12.0"),
        ("proc/1/task/1/stat", ""),
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/cpu/possible", "0-3"),
        ("sys/devices/system/cpu/present", "0-3"),
        ("sys/devices/system/cpu/isolated", isolated),
        ("var/log/dmesg", messages),
    ] {
        write_file(dir.path(), path, text);
    }
    dir
}

#[test]
fn boot_check_of_a_captured_machine_never_confirms_an_effect() {
    let dir = captured("isolcpus=3", "3", "[    0.000000] Linux version 6.12.0\n");
    let (printed, status) = json(dir.path());
    assert_eq!(printed["schema"], "quietcore.boot/1");
    assert_eq!(
        (printed["verb"].as_str(), printed["origin"].as_str()),
        (Some("check"), Some("captured"))
    );
    let one = &printed["parameters"][0];
    assert_eq!(one["word"], "isolcpus=3");
    assert_eq!(one["reached"]["truth"], "yes");
    assert_eq!(one["understood"]["truth"], "yes", "{one}");
    assert_eq!(one["works"]["truth"], "unknown", "{one}");
    assert_eq!((printed["verdict"].as_str(), status), (Some("unknown"), 4));
}

#[test]
fn a_parameter_that_the_kernel_dropped_is_an_error() {
    let dir = captured("isolcpus=3 isolcpu=2", "", "[    0.000000] Linux version 6.12.0\n");
    let (printed, status) = json(dir.path());
    assert_eq!((printed["verdict"].as_str(), status), (Some("broken"), 1));
    let parameters = printed["parameters"].as_array().unwrap();
    assert_eq!(parameters.len(), 2);
    for one in parameters {
        assert_eq!(one["understood"]["truth"], "no", "{one}");
        assert_eq!(one["works"]["truth"], "no", "{one}");
    }
    write_file(dir.path(), "proc/cmdline", "quiet");
    let (printed, status) = json(dir.path());
    assert_eq!((printed["verdict"].as_str(), status), (Some("nothing"), 0));
}

/// Every reported parameter is on this machine's own command line, whatever it was booted with. A parameter that
/// isolates nothing is reported as such.
#[test]
fn boot_check_of_this_machine_uses_its_own_line() {
    let output = check(&["--json", "--for", "200ms"]);
    let printed: Value = document(&output.stdout).unwrap();
    let running = std::fs::read_to_string("/proc/cmdline").unwrap();
    assert_eq!(printed["origin"], "live");
    assert_eq!(printed["running"], running.trim_end());
    let parameters = printed["parameters"].as_array().unwrap();
    let isolates = machine::cmdline::words(&running).any(|word| word.starts_with("isolcpus="));
    assert!(!isolates || !parameters.is_empty(), "{printed}");
    let nothing = parameters.is_empty() && printed["declared"].as_array().unwrap().is_empty();
    assert_eq!(printed["verdict"] == "nothing", nothing, "{printed}");
    if nothing {
        assert_eq!(output.status.code(), Some(0));
    }
}
