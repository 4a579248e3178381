//! `blame` of a program by whom the kernel lets trace nothing: the scheduler says how long it waited, and nobody is named.

use crate::support::alone::{alone, cpu};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Who may look at nothing that is not everybody's.
const NOBODY: u32 = 65_534;

/// The program where anybody may start it.
fn for_anybody(dir: &Path) -> PathBuf {
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    let copy = dir.join("quietcore");
    std::fs::copy(env!("CARGO_BIN_EXE_quietcore"), &copy).unwrap();
    copy
}

fn as_nobody(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    // SAFETY: asks only for a number.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.stdin(Stdio::null());
    command
}

/// Spins on the CPU of the test until it is told to end.
struct Spinner(Child);

impl Spinner {
    fn begin() -> Spinner {
        let mut command = as_nobody("taskset");
        Spinner(
            command
                .args(["-c", &cpu(), "sh", "-c", "while :; do :; done"])
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn answer(output: &Output) -> Value {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.contains("nothing could be traced") && told.contains("the scheduler says"),
        "{told}"
    );
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        answer["no_trace"].as_str().unwrap().contains("permission denied"),
        "{answer}"
    );
    answer["cpus"][0].clone()
}

/// What holds of whoever shares its CPU with one other that never sleeps.
fn shares_its_cpu(cpu: &Value) {
    let number = |name: &str| cpu[name].as_u64().unwrap();
    let (stolen_ns, wanted_ns, duration_ns) =
        (number("stolen_ns"), number("wanted_ns"), number("duration_ns"));
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
fn a_process_that_shares_its_cpu_waits_by_the_schedulers_account() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let quietcore = for_anybody(dir.path());
    let (one, _other) = (Spinner::begin(), Spinner::begin());
    let blame = ["--json", "blame", "--cpus", &cpu(), "--for", "1s", "--pid"];
    let output = as_nobody(&quietcore)
        .args(blame)
        .arg(one.0.id().to_string())
        .output()
        .unwrap();
    shares_its_cpu(&answer(&output));
}

#[test]
fn a_command_with_children_that_share_their_cpu_waits_as_well() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let quietcore = for_anybody(dir.path());
    let _other = Spinner::begin();
    let command = "(while :; do :; done) & wait";
    let output = as_nobody(&quietcore)
        .args([
            "--json",
            "blame",
            "--cpus",
            &cpu(),
            "--for",
            "1s",
            "--",
            "sh",
            "-c",
        ])
        .arg(format!("trap 'kill $!; exit 0' TERM; {command}"))
        .output()
        .unwrap();
    shares_its_cpu(&answer(&output));
}
