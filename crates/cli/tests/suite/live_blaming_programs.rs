//! `blame` of a command and of a running process: the threads that take its CPU are named.
//!
//! Its own system calls do not count as stolen time, its exit is reported, and nothing is left behind.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use crate::support::traced;
use crate::support::traced::{check_accounts, instances, tracing};
use root::Tracefs;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn blame(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        // A buffer of this size loses no events even on a busy machine.
        .args(["--json", "blame", "--buffer", "65536", "--memory", "1024"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn answer(output: &Output) -> Value {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    document(&output.stdout).unwrap()
}

/// Runs `work` while a thread takes the CPU for 2 ms repeatedly.
fn disturbed<T>(work: impl FnOnce() -> T) -> T {
    traced::disturbed(Duration::from_millis(18), Duration::from_millis(2), work).0
}

fn time_of(cpu: &Value, list: &str, name: &str) -> u64 {
    let rows = cpu[list].as_array().map_or([].as_slice(), Vec::as_slice);
    let named = rows
        .iter()
        .filter(|row| row["name"].as_str().unwrap().starts_with(name));
    named.map(|row| row["total_ns"].as_u64().unwrap()).sum()
}

#[test]
fn a_thread_that_preempts_a_command_is_named_and_own_calls_are_not_stolen() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: who_takes_the_cpu_from_a_command_is_named: {why}"),
    };
    let before = instances(&tracefs);
    // Program names that are unique on this machine.
    let dir = tempfile::tempdir().unwrap();
    let [shell, copier] = ["sh", "dd"].map(|program| {
        let name = dir.path().join(format!("own-{program}"));
        std::os::unix::fs::symlink(Path::new("/bin").join(program), &name).unwrap();
        name.to_str().unwrap().to_owned()
    });
    // `dd` spends nearly all its time in the kernel, in system calls of its own.
    let words =
        format!("echo hello; while :; do {copier} if=/dev/zero of=/dev/null bs=64k count=5000 2>/dev/null; done");
    let output = disturbed(|| blame(&["--cpus", &cpu(), "--for", "3s", "--", &shell, "-c", &words]));
    let answer = answer(&output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("hello"));
    assert_eq!(answer["program"]["ended"]["killed"], 15, "{}", answer["program"]);
    assert_eq!(answer["program"]["until"], "time");
    let cpu = &answer["cpus"][0];
    check_accounts(cpu);
    // If the trace misses the fork of a child, the child counts as another program.
    assert_eq!(cpu["lost_events"], 0);
    let number = |name: &str| cpu[name].as_u64().unwrap();
    assert!(number("wanted_ns") >= number("duration_ns") / 2, "{cpu}");
    assert!(time_of(cpu, "interruptions", "disturber") >= 20_000_000, "{cpu}");
    // The shell and its child share the CPU. Both belong to the traced program, so neither steals time from it.
    for own in ["own-sh", "own-dd"] {
        assert_eq!(time_of(cpu, "interruptions", own), 0, "{cpu}");
    }
    let called = time_of(cpu, "own", "system call");
    // Only the time that other programs left to it counts.
    assert!(
        called >= (number("wanted_ns") - number("stolen_ns")) / 4,
        "{called} ns in system calls: {cpu}"
    );
    assert!(called + number("stolen_ns") <= number("wanted_ns"), "{cpu}");
    assert_eq!(instances(&tracefs), before);
}

/// A process that spins on the CPU until it is dropped.
struct SpinningChild(Child);

impl SpinningChild {
    fn start() -> SpinningChild {
        let child = Command::new("taskset")
            .args(["-c", &cpu(), "sh", "-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        SpinningChild(child)
    }
}

impl Drop for SpinningChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_running_process_is_watched_on_its_cpus_and_continues() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: a_process_that_runs_is_watched: {why}"),
    };
    let before = instances(&tracefs);
    let mut spinner = SpinningChild::start();
    let pid = spinner.0.id().to_string();
    // Let the process migrate to its CPU first.
    std::thread::sleep(Duration::from_millis(300));
    for args in [
        ["--for", "2s", "--pid", &pid].as_slice(),
        &["--tid", "--for", "2s", "--pid", &pid],
    ] {
        let output = disturbed(|| blame(args));
        let answer = answer(&output);
        let cpus = answer["cpus"].as_array().unwrap();
        let watched: Vec<String> = cpus.iter().map(|of| of["cpu"].to_string()).collect();
        assert_eq!(watched, [cpu()], "where it may run");
        check_accounts(&cpus[0]);
        assert!(
            time_of(&cpus[0], "interruptions", "disturber") >= 10_000_000,
            "{}",
            cpus[0]
        );
        assert_eq!(answer["program"]["until"], "time");
        assert!(answer["program"]["ended"].is_null());
    }
    assert!(spinner.0.try_wait().unwrap().is_none(), "continues");
    assert_eq!(instances(&tracefs), before);
}

/// Starts `blame` of a command of two seconds and opens its trace for reading until the file is dropped.
fn blame_with_second_reader(tracefs: &Tracefs) -> (Child, File, PathBuf) {
    let child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["--json", "blame", "--cpus", &cpu(), "--", "sleep", "2"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let instance = PathBuf::from(tracefs.file(&format!("instances/quietcore-{}", child.id())));
    let pipe = instance.join("trace_pipe");
    let began = Instant::now();
    while !pipe.exists() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, File::open(pipe).unwrap(), instance)
}

#[test]
fn a_trace_in_use_stays_until_its_reader_is_done_and_the_answer_is_kept() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: a_trace_that_somebody_reads_stays: {why}"),
    };
    // The second reader keeps the trace open longer than `blame` retries its removal.
    let (child, reader, instance) = blame_with_second_reader(&tracefs);
    let output = child.wait_with_output().unwrap();
    let reported = answer(&output);
    check_accounts(&reported["cpus"][0]);
    let left = &reported["findings"][0];
    assert_eq!(
        (&left["id"], &left["level"]),
        (&"trace_left_behind".into(), &"warning".into()),
        "{reported}"
    );
    assert!(
        left["message"].as_str().unwrap().contains("another program reads it"),
        "{left}"
    );
    assert!(instance.exists(), "the kernel keeps what somebody reads");
    // The instance stays while the trace is open. The next call removes it afterwards.
    let undo = || {
        Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .arg("undo")
            .output()
            .unwrap()
    };
    undo();
    assert!(instance.exists());
    drop(reader);
    undo();
    assert!(!instance.exists());

    // The second reader closes the trace before the last retry.
    let (mut child, reader, instance) = blame_with_second_reader(&tracefs);
    let stopped = instance.join("tracing_on");
    while std::fs::read_to_string(&stopped).is_ok_and(|on| on.trim() == "1") {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    drop(reader);
    assert!(child.wait().unwrap().success());
    assert!(!instance.exists());
}

#[test]
fn the_exit_of_a_command_is_reported_and_ends_the_watch() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: how_a_command_ended_is_told: {why}");
    }
    let exited = answer(&blame(&["--cpus", &cpu(), "--", "sh", "-c", "exit 7"]));
    assert_eq!(exited["program"]["ended"]["exited"], 7);
    assert_eq!(exited["program"]["until"], "ended");
    let killed = answer(&blame(&["--", "sh", "-c", "kill -SEGV $$"]));
    assert_eq!(killed["program"]["ended"]["killed"], 11);
}

#[test]
fn missing_programs_and_processes_are_reported_and_leave_nothing() {
    let _alone = alone();
    let tracefs = match tracing() {
        Ok(tracefs) => tracefs,
        Err(why) => return println!("SKIP: what_cannot_be_started_or_found_is_said: {why}"),
    };
    let before = instances(&tracefs);
    for (args, status) in [
        (["--", "/does/not/exist"].as_slice(), 127),
        (&["--", "/etc/passwd"], 126),
        (&["--pid", "4194304999"], 2),
        (&["--pid", "4194303"], 2),
        (&["--tid"], 2),
        (&["--pid", "1", "--", "true"], 2),
        (&["--threshold", "2us", "--", "true"], 2),
        (&["--cpus", "4096", "--", "true"], 2),
    ] {
        let output = blame(args);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
        assert!(output.stdout.is_empty() && !message.is_empty(), "{args:?}");
    }
    assert_eq!(instances(&tracefs), before);
}
