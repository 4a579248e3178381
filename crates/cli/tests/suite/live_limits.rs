//! `measure` without permissions or with impossible requests: the error names a way out, and memory stays within the
//! stated limit.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// The uid of a user that owns no file.
const NOBODY_UID: u32 = 65534;

/// A resource limit of a process: soft, hard.
type ResourceLimit = [libc::rlim_t; 2];

fn set(resource: libc::c_int, [soft, hard]: ResourceLimit) -> std::io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: the structure lives across the call.
    match unsafe { libc::setrlimit(resource.cast_unsigned(), &raw const limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Runs the binary as the user `nobody`, without capabilities, with these limits of real-time priority and of locked
/// memory.
fn as_nobody(binary: &Path, args: &[&str], priority: ResourceLimit, memory: ResourceLimit) -> std::io::Result<Output> {
    let mut command = Command::new(binary);
    command
        .args(["measure", args[0], "--cpus", &cpu(), "--json"])
        .args(&args[1..])
        .current_dir("/");
    let become_nobody = move || {
        set(libc::RLIMIT_RTPRIO as libc::c_int, priority)?;
        set(libc::RLIMIT_MEMLOCK as libc::c_int, memory)?;
        // SAFETY: the calls allocate no memory.
        match unsafe { libc::setgroups(0, std::ptr::null()) | libc::setgid(NOBODY_UID) | libc::setuid(NOBODY_UID) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: only system calls happen between `fork` and `exec`.
    unsafe { command.pre_exec(become_nobody) };
    command.output()
}

/// Copies the binary to a directory where the user `nobody` may execute it.
fn world_executable_copy(dir: &Path) -> std::path::PathBuf {
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = dir.join("quietcore");
    std::fs::copy(env!("CARGO_BIN_EXE_quietcore"), &binary).unwrap();
    binary
}

fn result(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"))
}

fn note<'a>(result: &'a Value, id: &str) -> Option<&'a Value> {
    result["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|note| note["id"] == id)
}

fn text<'a>(note: &'a Value, part: &str) -> &'a str {
    note[part].as_str().unwrap()
}

#[test]
fn without_privileges_it_measures_what_it_can_and_reports_the_fix() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let binary = world_executable_copy(dir.path());
    let short = ["latency", "--for", "300ms"];
    let output = match as_nobody(&binary, &short, [0, 0], [65_536, 65_536]) {
        Ok(output) => output,
        Err(error) => return println!("SKIP: without_rights: cannot become nobody: {error}"),
    };
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let poor = result(&output);
    let refused = note(&poor, "policy_refused").unwrap_or_else(|| panic!("{}", poor["findings"]));
    assert!(
        text(refused, "message").contains("needs RLIMIT_RTPRIO of 80, which is 0"),
        "{refused}"
    );
    assert!(
        text(refused, "fix").contains("`USER - rtprio 80` into /etc/security/limits.conf"),
        "{refused}"
    );
    let memory = note(&poor, "memory_not_locked").unwrap_or_else(|| panic!("{}", poor["findings"]));
    assert!(
        text(memory, "message").contains("limited to 64 KiB (RLIMIT_MEMLOCK)"),
        "{memory}"
    );
    assert!(text(memory, "fix").contains("ulimit -l unlimited"), "{memory}");
    let thread = &poor["threads"][0];
    assert_eq!((&thread["policy"], &thread["priority"]), (&"other".into(), &0.into()));
    assert!(thread["recorded"].as_u64().unwrap() > 0);

    // An explicitly requested policy is not replaced by another.
    let requested = [&short[..], &["--policy", "fifo:80"]].concat();
    let output = as_nobody(&binary, &requested, [0, 0], [65_536, 65_536]).unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(
        message.contains("fifo:80 was refused") && output.stdout.is_empty(),
        "{message}"
    );

    // The same applies to an explicit `--idle hold`. The default only gives an informational finding.
    assert!(note(&poor, "idle_states_not_held").is_some(), "{}", poor["findings"]);
    let requested = [&short[..], &["--idle", "hold"]].concat();
    let output = as_nobody(&binary, &requested, [0, 0], [65_536, 65_536]).unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    let device = std::path::Path::new("/dev/cpu_dma_latency").exists();
    assert_eq!(output.status.code(), Some(if device { 3 } else { 4 }), "{message}");
    assert!(
        message.contains("/dev/cpu_dma_latency refuses")
            && message.contains("--idle leave")
            && output.stdout.is_empty(),
        "{message}"
    );

    // The same applies to an explicitly requested trace.
    for option in [["--break-trace", "own"], ["--break-trace", "top"]] {
        let requested = [&short[..], &["--break", "1ns"], &option].concat();
        let output = as_nobody(&binary, &requested, [0, 0], [65_536, 65_536]).unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(3 | 4)) && output.stdout.is_empty(),
            "{option:?}: {message}"
        );
    }

    // Without root, `--break` still stops the run, but records no trace.
    let requested = [&short[..], &["--break", "1ns"]].concat();
    let output = as_nobody(&binary, &requested, [0, 0], [65_536, 65_536]).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let broken = result(&output);
    assert!(broken["broke"]["value_ns"].as_u64().unwrap() > 0);
    let lacking = note(&broken, "trace_not_recorded").unwrap_or_else(|| panic!("{}", broken["findings"]));
    assert!(text(lacking, "fix").contains("root"), "{lacking}");
}

/// If the limit is too low, the finding names the highest granted priority, and that priority is used.
#[test]
fn a_priority_above_the_limit_is_reported_with_the_limit() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let binary = world_executable_copy(dir.path());
    let short = ["latency", "--for", "300ms"];
    let priority = [50, 99];
    let memory = [65_536, 65_536];
    let output = match as_nobody(&binary, &short, priority, memory) {
        Ok(output) => output,
        Err(error) => {
            return println!("SKIP: a_priority_above_the_limit: a limit cannot be raised here: {error}");
        }
    };
    let half = result(&output);
    let refused = note(&half, "policy_refused").unwrap_or_else(|| panic!("{}", half["findings"]));
    assert!(text(refused, "message").contains("which is 50"), "{refused}");
    assert!(text(refused, "fix").contains("priority 50 at most"), "{refused}");
    assert!(text(refused, "fix").contains("`ulimit -r 80`"), "{refused}");
    let requested = [&short[..], &["--policy", "fifo:50"]].concat();
    let granted = result(&as_nobody(&binary, &requested, priority, memory).unwrap());
    assert!(note(&granted, "policy_refused").is_none(), "{}", granted["findings"]);
    assert_eq!(granted["threads"][0]["priority"], 50);
}

fn measure(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command
        .args(["measure", args[0], "--cpus", &cpu(), "--json"])
        .args(&args[1..])
        .output()
        .unwrap()
}

#[test]
fn invalid_requests_are_refused_before_measuring() {
    for (args, words) in [
        (["latency", "--policy", "fifo:0"], "from 1 to 99"),
        (["latency", "--policy", "fifo:100"], "from 1 to 99"),
        (["latency", "--policy", "rr:-1"], "from 1 to 99"),
        (["latency", "--policy", "other:5"], "takes no priority"),
        (["latency", "--policy", "deadline:2ms/1ms"], "does not fit into"),
        (["noise", "--policy", "fifo:4294967297"], "from 1 to 99"),
        (["latency", "--interval", "1us"], "10 us to 10 s"),
        (["latency", "--break", "0"], "above 0"),
        (["noise", "--threshold", "0"], "100 ns to 1 s"),
        (["latency", "--break-trace", "top"], "--break"),
        (["latency", "--trace-out", "/dev/null"], "--break"),
    ] {
        let output = measure(&args);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(
            message.contains(words) && output.stdout.is_empty(),
            "{args:?}: {message}"
        );
    }
}

/// More than 100,000 spikes are counted, only the worst are listed, and the result stays small.
#[test]
fn thousands_of_spikes_per_second_are_counted_and_bounded() {
    let _alone = alone();
    let output = measure(&["latency", "--interval", "20us", "--for", "3s", "--spike", "0"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let spikes = result(&output);
    let thread = &spikes["threads"][0];
    let number = |name: &str| thread[name].as_u64().unwrap();
    assert_eq!(number("expected"), number("recorded") + number("missed"));
    assert_eq!(number("expected"), 150_000);
    assert_eq!(number("spikes_total"), number("recorded"), "every wake-up is one");
    assert!(number("recorded") > 20_000, "{}", number("recorded"));
    let listed = thread["spikes"].as_array().unwrap();
    assert_eq!(listed.len(), 10_000);
    let worst = listed.iter().map(|spike| spike["late_ns"].as_u64().unwrap()).max();
    assert_eq!(worst, thread["max_ns"].as_u64());
    assert!(output.stdout.len() < 2 << 20, "{} bytes", output.stdout.len());

    let output = measure(&["noise", "--threshold", "100ns", "--for", "2s"]);
    let gaps = result(&output);
    let thread = &gaps["threads"][0];
    let number = |name: &str| thread[name].as_u64().unwrap();
    assert_eq!(number("expected"), number("recorded") + number("missed"));
    assert_eq!(number("gaps_total"), number("recorded"));
    assert!(
        number("gaps_kept") == 10_000.min(number("gaps_total")),
        "{}",
        number("gaps_kept")
    );
    assert!(output.stdout.len() < 2 << 20, "{} bytes", output.stdout.len());
}
