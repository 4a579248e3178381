//! `blame` of a program by a user who may not trace: the scheduler's statistics give the waiting time, and no cause is
//! named.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The uid of a user without any privileges.
const NOBODY_UID: u32 = 65_534;

/// Copies the program to a directory where any user may execute it.
fn world_executable_copy(dir: &Path) -> PathBuf {
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    let copy = dir.join("quietcore");
    std::fs::copy(env!("CARGO_BIN_EXE_quietcore"), &copy).unwrap();
    copy
}

fn as_nobody(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    // SAFETY: only reads the effective uid.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY_UID).gid(NOBODY_UID);
    }
    command.stdin(Stdio::null());
    command
}

/// Spins on the CPU of the test until it is dropped.
struct SpinProcess(Child);

impl SpinProcess {
    fn start() -> SpinProcess {
        let mut command = as_nobody("taskset");
        SpinProcess(
            command
                .args(["-c", &cpu(), "sh", "-c", "while :; do :; done"])
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for SpinProcess {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn answer(output: &Output) -> Value {
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(
        printed.contains("tracing is not available") && printed.contains("scheduler statistics"),
        "{printed}"
    );
    let answer: Value = document(&output.stdout).unwrap();
    assert!(
        answer["no_trace"].as_str().unwrap().contains("permission denied"),
        "{answer}"
    );
    answer["cpus"][0].clone()
}

/// Checks the times of a process that shares its CPU with one process that never sleeps.
fn shares_its_cpu(cpu: &Value) {
    let number = |name: &str| cpu[name].as_u64().unwrap();
    let (stolen_ns, wanted_ns, duration_ns) = (number("stolen_ns"), number("wanted_ns"), number("duration_ns"));
    assert!(stolen_ns > wanted_ns / 10 && number("gaps") > 0, "{cpu}");
    assert!(stolen_ns < wanted_ns && wanted_ns <= duration_ns, "{cpu}");
    assert_eq!(
        (number("explained_ns"), number("unexplained_ns")),
        (0, stolen_ns),
        "{cpu}"
    );
    assert!(cpu["longest_run_ns"].is_null(), "{cpu}");
    for row in cpu["interruptions"].as_array().unwrap() {
        assert_eq!(row["confidence"], "counted", "{row}");
    }
}

#[test]
fn without_tracing_waits_come_from_scheduler_statistics() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let quietcore = world_executable_copy(dir.path());
    let (one, _other) = (SpinProcess::start(), SpinProcess::start());
    let blame = ["--json", "blame", "--cpus", &cpu(), "--for", "1s", "--pid"];
    let output = as_nobody(&quietcore)
        .args(blame)
        .arg(one.0.id().to_string())
        .output()
        .unwrap();
    shares_its_cpu(&answer(&output));
}

#[test]
fn waits_of_children_are_included_in_those_of_a_command() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let quietcore = world_executable_copy(dir.path());
    let _other = SpinProcess::start();
    let command = "(while :; do :; done) & wait";
    let output = as_nobody(&quietcore)
        .args(["--json", "blame", "--cpus", &cpu(), "--for", "1s", "--", "sh", "-c"])
        .arg(format!("trap 'kill $!; exit 0' TERM; {command}"))
        .output()
        .unwrap();
    shares_its_cpu(&answer(&output));
}
