//! Runs cargo with its output in a log, prints only the relevant lines, and kills and names a test that hangs.

use crate::error::{TaskResult, XtaskError, target_dir, top};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Maximum number of relevant lines before the end of a log.
const MAX_FAILURE_LINES: usize = 24;

/// Time without new output after which a command hangs: cargo reports every crate and every finished test.
const SILENCE: Duration = Duration::from_secs(600);

/// The result of a cargo run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CargoOutcome {
    /// Exit status 0.
    Succeeded,
    /// Another exit status.
    Failed,
    /// It printed nothing for too long and was killed. The hanging tests were printed.
    Hung,
}

/// Runs cargo with its output in a log, and prints the end of the log if it failed. Returns the result and the log.
///
/// # Errors
/// [`XtaskError`] when cargo cannot be started, or the log cannot be written or read.
pub fn logged(name: &str, arguments: &[&str]) -> TaskResult<(CargoOutcome, String)> {
    let log = log_file(name)?;
    let started = Instant::now();
    let ended = within_silence(Command::new("cargo").args(arguments).current_dir(top()), &log)?;
    let text = String::from_utf8_lossy(&std::fs::read(&log).map_err(XtaskError::file(&log))?).into_owned();
    let (word, how) = match &ended {
        CommandEnd::With(status) if status.success() => ("ok   ", CargoOutcome::Succeeded),
        CommandEnd::With(_) => ("FAIL ", CargoOutcome::Failed),
        CommandEnd::Silent(_) => ("HUNG ", CargoOutcome::Hung),
    };
    println!("{word} cargo {name:<10} {:>6.1} s", started.elapsed().as_secs_f64());
    if how != CargoOutcome::Succeeded {
        show_failure(&ended, &text, &log);
    }
    Ok((how, text))
}

/// Prints the failures in a log, and what hung.
pub fn show_failure(ended: &CommandEnd, text: &str, log: &Path) {
    if let CommandEnd::Silent(processes) = ended {
        println!("        ended: no output for {} s", SILENCE.as_secs());
        for test in unfinished(text) {
            println!("        started and not finished: {test}");
        }
        for process in processes {
            println!("        {process}");
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    for line in failure_lines(&lines) {
        println!("        {line}");
    }
    println!("        the end of {}:", log.display());
    for line in lines.iter().skip(lines.len().saturating_sub(60)) {
        println!("        {line}");
    }
}

/// How a command with a silence limit ended.
pub enum CommandEnd {
    /// It exited.
    With(ExitStatus),
    /// It and its children were killed. One line for each of them, with its state before.
    Silent(Vec<String>),
}

/// Runs a command with its output in a log, and kills it when the log does not grow for [`SILENCE`].
///
/// # Errors
/// [`XtaskError`] when it cannot be started or the log cannot be written.
pub fn within_silence(command: &mut Command, log: &Path) -> TaskResult<CommandEnd> {
    within(command, log, SILENCE)
}

fn within(command: &mut Command, log: &Path, silence: Duration) -> TaskResult<CommandEnd> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| XtaskError::Program {
        program: program.clone(),
        why: error.to_string(),
    };
    let file = File::create(log).map_err(XtaskError::file(log))?;
    let errors = file.try_clone().map_err(XtaskError::file(log))?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(errors)
        .spawn()
        .map_err(failed)?;
    let mut length = 0;
    let mut grew = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(CommandEnd::With(status));
        }
        let now = std::fs::metadata(log).map_err(XtaskError::file(log))?.len();
        if now != length {
            length = now;
            grew = Instant::now();
        } else if grew.elapsed() > silence {
            // Not by a process group: the user's Ctrl-C must reach cargo, so cargo stays in our group.
            let below = descendants(child.id());
            let states = below.iter().map(|pid| state(*pid)).collect();
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            for pid in below {
                // SAFETY: a plain system call. If a process has exited since then, the call fails.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            return Ok(CommandEnd::Silent(states));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// All descendants of a process.
fn descendants(top: u32) -> Vec<libc::pid_t> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(libc::pid_t, libc::pid_t)> = folders
        .filter_map(|folder| {
            let pid = folder.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(folder.path().join("stat")).ok()?;
            // The name in parentheses may contain anything; the state and the parent follow it.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found: Vec<libc::pid_t> = libc::pid_t::try_from(top).into_iter().collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|of| of.1 == parent).map(|of| of.0));
        next += 1;
    }
    found.split_off(1.min(found.len()))
}

/// Describes a process, and where in the kernel each of its threads waits.
fn state(pid: libc::pid_t) -> String {
    let read = |path: &str| std::fs::read_to_string(format!("/proc/{pid}/{path}")).unwrap_or_default();
    let mut text = format!("process {pid}: {}", read("cmdline").replace('\0', " "));
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let thread = thread.file_name().to_string_lossy().into_owned();
        let stat = read(&format!("task/{thread}/stat"));
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        // Only root may read the stack; any user can read the name of the function.
        let stack = read(&format!("task/{thread}/stack"));
        let stack: Vec<&str> = stack
            .lines()
            .take(4)
            .filter_map(|line| line.split("] ").nth(1))
            .collect();
        let place = read(&format!("task/{thread}/wchan"));
        text.push_str(&format!(
            "; {thread} {} {place} {}",
            state.unwrap_or('?'),
            stack.join(" < ")
        ));
    }
    text
}

/// Tests that were reported as slow and had no result at the end of the log.
fn unfinished(text: &str) -> BTreeSet<&str> {
    let mut slow = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("test ")) {
        if let Some((name, _)) = line.split_once(" has been running for over ") {
            slow.insert(name);
        } else if let Some((name, _)) = line.split_once(" ... ") {
            slow.remove(name);
        }
    }
    slow
}

/// The lines that report failures of compilers, linkers and tests, which may be far above the end.
fn failure_lines<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut relevant: Vec<&str> = Vec::new();
    // Passing tests may panic intentionally, and their output is in the log too.
    let mut passed = false;
    for (place, line) in lines.iter().enumerate() {
        passed = match *line {
            "successes:" => true,
            "failures:" => false,
            line => passed && !line.starts_with("test result: "),
        };
        let panicked = !passed && line.contains(" panicked at ");
        let tells = panicked
            || line.starts_with("error")
            || line.starts_with("Diff in ")
            || line.ends_with(" ... FAILED")
            || line.contains("No space left on device");
        if tells && relevant.len() < MAX_FAILURE_LINES {
            relevant.push(line);
            relevant.extend(lines.get(place + 1).filter(|_| panicked));
        }
    }
    relevant
}

fn log_file(name: &str) -> TaskResult<PathBuf> {
    let dir = target_dir().join("test-logs");
    std::fs::create_dir_all(&dir).map_err(XtaskError::file(&dir))?;
    Ok(dir.join(format!("{name}.log")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_printed_wherever_they_are_in_the_log() {
        let text = "   Compiling a\nerror: linking with `cc` failed\ntest b ... FAILED\ntest c ... ok\nsuccesses:\n\
                    thread 'c' panicked at c.rs:1:1:\non purpose\nfailures:\nthread 'b' panicked at b.rs:3:5:\nleft is not right\nnote: a backtrace\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            failure_lines(&lines),
            [
                "error: linking with `cc` failed",
                "test b ... FAILED",
                "thread 'b' panicked at b.rs:3:5:",
                "left is not right"
            ]
        );
    }

    #[test]
    fn a_hanging_test_is_named_and_a_slow_one_is_not() {
        let text = "test a has been running for over 60 seconds\ntest b has been running for over 60 seconds\n\
                    test a ... ok\ntest c ... ok\n";
        assert_eq!(unfinished(text).into_iter().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_silent_command_is_killed_with_its_children_and_an_active_one_is_not() {
        let log = log_file("silence").unwrap();
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "echo first; sleep 600 & echo $!; wait"]);
        let ended = within(&mut hangs, &log, Duration::from_millis(400)).unwrap();
        let CommandEnd::Silent(states) = ended else {
            panic!("it was not ended")
        };
        assert!(states.iter().any(|state| state.contains(": sleep 600")), "{states:?}");
        let text = std::fs::read_to_string(&log).unwrap();
        let child = text.lines().nth(1).unwrap();
        let alive = || std::fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        let began = Instant::now();
        while alive() {
            assert!(began.elapsed() < Duration::from_secs(60), "{child} is still there");
            std::thread::sleep(Duration::from_millis(10));
        }

        let mut talks = Command::new("sh");
        talks.args(["-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done; exit 3"]);
        let ended = within(&mut talks, &log, Duration::from_millis(800)).unwrap();
        assert!(matches!(ended, CommandEnd::With(status) if status.code() == Some(3)));
    }
}
