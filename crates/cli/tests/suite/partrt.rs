//! `partrt`, `bitcalc` and `count_ticks` as scripts call them: by the name of the binary and as `quietcore NAME`, with
//! the messages, streams and statuses that scripts expect.
//!
//! Nothing here creates a partition. `lab/src/scenarios/partrt.rs` tests that on real kernels.

use crate::support::schemas::document;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// Runs a command by the name of the binary and as `quietcore NAME`.
fn both_ways(name: &str, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_quietcore");
    let own = Command::new(program).arg0(name).args(arguments).output().unwrap();
    let behind = Command::new(program).arg(name).args(arguments).output().unwrap();
    assert_eq!(text(&own.stderr), text(&behind.stderr), "{name} {arguments:?}");
    assert_eq!(own.status, behind.status, "{name} {arguments:?}");
    own
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn partrt_prints_the_messages_that_scripts_expect() {
    for (arguments, message) in [
        (&[][..], "Expected sub-command. Use 'partrt -h' for help."),
        (&["-v"], "Expected sub-command. Use 'partrt -h' for help."),
        (
            &["destroy"],
            "Illegal sub-command: 'destroy'. Valid commands: create undo run move list. Use 'partrt -h' for help.",
        ),
        (&["-q"], "partrt: Failed execution: Invalid option: q "),
        (
            &["-n"],
            "partrt: Failed execution: Invalid option: -n missing mandatory argument",
        ),
        (&["create"], "partrt: Failed execution: Missing mandatory cpumask"),
        (&["create", "-q"], "partrt: Failed execution: Invalid option: -q "),
        (
            &["undo", "-s"],
            "partrt: Failed execution: Invalid option: -s missing mandatory argument",
        ),
        (
            &["undo", "-s", "/there/is/none"],
            "partrt: Failed execution: Provided configuration file: /there/is/none does not exist",
        ),
        (&["run"], "partrt: Failed execution: Missing mandatory partition name"),
        (
            &["run", "-c"],
            "partrt: Failed execution: Invalid option: -c missing mandatory argument",
        ),
        (&["move"], "partrt: Failed execution: Missing mandatory task ID"),
        (
            &["move", "4194305", "rt"],
            "partrt: Failed execution: Task ID 4194305 does not exist",
        ),
        (
            &["move", "1"],
            "partrt: Failed execution: Missing mandatory partition name",
        ),
        (&["list", "-x"], "partrt: Failed execution: Invalid option: x "),
    ] {
        let output = both_ways("partrt", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(text(&output.stderr), format!("{message}\n"), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn partrt_reports_missing_partitions_and_tasks() {
    if !root() {
        println!("SKIP: partrt_reports_missing_partitions_and_tasks: the journal is for root alone");
        return;
    }
    let own = std::process::id().to_string();
    for (arguments, message) in [
        (
            &["run", "not-there", "true"][..],
            "Could not find cpuset partition: not-there",
        ),
        (&["move", &own, "not-there"], "Partition not-there does not exist"),
    ] {
        let output = both_ways("partrt", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(text(&output.stderr), format!("partrt: Failed execution: {message}\n"));
    }
    // An impossible mask is refused before the machine is inspected.
    let output = both_ways("partrt", &["create", "0"]);
    assert!(
        text(&output.stderr).starts_with("partrt: Failed execution: "),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn help_and_version_go_to_standard_output() {
    for (name, arguments, begin) in [
        ("partrt", &["-h"][..], "partrt - "),
        ("partrt", &["create", "-h"], "partrt - "),
        ("partrt", &["undo", "-h"], "partrt - "),
        ("partrt", &["run", "-h"], "partrt - "),
        ("partrt", &["move", "-h"], "partrt - "),
        ("partrt", &["list", "-h"], "partrt - "),
        ("partrt", &["-V"], "partrt 1.2"),
        ("bitcalc", &["-h"], "bitcalc - "),
        ("bitcalc", &["--version"], "bitcalc "),
        ("count_ticks", &[], "usage:\n"),
        ("count_ticks", &["--help"], "usage:\n"),
    ] {
        let output = both_ways(name, arguments);
        assert_eq!(output.status.code(), Some(0), "{name} {arguments:?}");
        assert!(text(&output.stdout).starts_with(begin), "{name} {arguments:?}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn bitcalc_reads_standard_input_at_the_position_of_its_argument() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .arg0("/usr/bin/bitcalc")
        .args(["0xfe", "0xfe00", "--file=-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"xor\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "fefe\n");
    let output = both_ways("bitcalc", &["12z"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "Error while parsing mask or u32 list: 12z: Character 'z' is not legal in hexadecimal mask\n"
    );
}

#[test]
fn cpus_evaluates_bitcalc_scripts() {
    let program = env!("CARGO_BIN_EXE_quietcore");
    let output = Command::new(program)
        .args(["cpus", "#0-3 #2 xor", "--json"])
        .output()
        .unwrap();
    let answer: serde_json::Value = document(&output.stdout).unwrap();
    assert_eq!(answer["list"], "0-1,3", "{answer}");
    let output = Command::new(program).args(["cpus", "1 2"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn ticks_are_counted_while_a_command_runs() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let online = online.trim();
    // A busy CPU ticks. The test's command keeps one busy.
    let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7";
    let output = both_ways("count_ticks", &["-b", "--cpu", online, "sh", "-c", busy]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let ticks: u64 = text(&output.stdout).trim().parse().unwrap();
    assert!(ticks > 0, "no tick on CPU {online}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ticks");
    let output = both_ways("count_ticks", &["-c", "0", "-f", file.to_str().unwrap(), "sleep 0.2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).ends_with(" ticks occurred\n"),
        "{}",
        text(&output.stdout)
    );
    let rows = std::fs::read_to_string(&file).unwrap();
    assert!(rows.starts_with("# cpu ticks\n0 "), "{rows}");
    for (arguments, message) in [
        (
            &["--cpu", "not-there", "true"][..],
            "Invalid argument to the --cpu (not-there)",
        ),
        (&["--cpu", "65000", "true"], "CPU 65000 is not online"),
        (&["--cpu", "0"], "Missing command"),
    ] {
        let output = both_ways("count_ticks", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert_eq!(text(&output.stderr), format!("count_ticks: {message}\n"));
    }
}
