//! Starts the watched command: places the process and holds it until the trace runs, so that nothing of it is missed.

use crate::blame_options::CommandOptions;
use machine::{CpuSet, Machine};
use root::process::{self, ChildState};
use root::{Failure, Status};
use session::{Session, cpuset_entry, partition};
use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::time::{Duration, Instant};

/// The time for a command to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process is placed.
const PLACED: u8 = 1;
/// The exec failed.
const NOT_STARTED: u8 = 2;

/// A process that waits to execute the command, or has done so.
pub struct CommandChild {
    /// Its PID.
    pub pid: u32,
    go: PipeWriter,
    state: PipeReader,
}

/// The outcome of starting a command.
pub enum Launch<T> {
    /// It runs, or ran.
    Running(T),
    /// It could not start, and has reported the reason itself. The status is its own.
    Failed(Status),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExitReason {
    /// With this exit status.
    Exited(u8),
    /// By this signal.
    Killed(i32),
}

/// Forks the process and lets it place itself on these CPUs. Only while this process has one thread.
///
/// # Errors
/// The fork failed. In the new process: why it cannot execute the command; the caller there reports it.
pub fn start(
    session: &Session,
    machine: &Machine,
    cpus: Option<&CpuSet>,
    options: &CommandOptions,
) -> Result<Launch<CommandChild>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::unable(
            "the command's process could not be created",
            error,
            "try again; there may be too many processes or open files",
        )
    };
    let (mut wait, go) = std::io::pipe().map_err(failed)?;
    let (mut state, mut report) = std::io::pipe().map_err(failed)?;
    let forked = process::fork().map_err(|errno| failed(std::io::Error::from_raw_os_error(errno)))?;
    let Some(pid) = forked else {
        drop((go, state));
        place(session, machine, cpus, options)?;
        let mut word = [0];
        if report.write_all(&[PLACED]).is_err() || wait.read_exact(&mut word).is_err() {
            // The parent has exited, and has reported the reason.
            std::process::exit(i32::from(Status::Failed.code()));
        }
        let error = partition::become_program(&options.command, &BTreeMap::new());
        let _ = report.write_all(&[NOT_STARTED]);
        return Err(error);
    };
    drop((wait, report));
    let mut word = [0];
    Ok(match state.read_exact(&mut word) {
        Ok(()) if word == [PLACED] => Launch::Running(CommandChild { pid, go, state }),
        _ => Launch::Failed(status_of(wait_for(pid))),
    })
}

/// Prepares this process for executing the command: its standard output, the partition that owns the CPUs, and its affinity.
///
/// # Errors
/// CPUs that are offline, or that this process may not use.
fn place(session: &Session, machine: &Machine, cpus: Option<&CpuSet>, options: &CommandOptions) -> Result<(), Failure> {
    let root = session.root();
    if let Some(stdout) = options.stdout {
        let _ = rustix::stdio::dup2_stdout(stdout);
    }
    let Some(cpus) = cpus else {
        return Ok(());
    };
    let failed = |why: String| {
        Failure::unable(
            format!("the command cannot be placed on CPU {cpus}"),
            why,
            "choose CPUs that are online and that this process may use, or run it as root",
        )
    };
    if let Some(door) = cpuset_entry::door(root, machine, cpus) {
        cpuset_entry::enter(session, Some(&door), std::process::id()).map_err(|error| failed(error.why))?;
    }
    root::sched::set_affinity(0, &cpus.words())
        .map_err(|errno| failed(std::io::Error::from_raw_os_error(errno).to_string()))
}

impl CommandChild {
    /// Lets it execute the command.
    pub fn go(mut self) -> Launch<u32> {
        let mut word = [0];
        // The exec closes the pipe.
        let has_started = self.go.write_all(&[PLACED]).is_ok() && self.state.read_exact(&mut word).is_err();
        match has_started {
            true => Launch::Running(self.pid),
            false => Launch::Failed(status_of(wait_for(self.pid))),
        }
    }
}

/// How it ended, if it has. Never blocks.
pub fn exit_reason(pid: u32) -> Option<ExitReason> {
    match process::news_of(pid) {
        ChildState::Exited(code) => Some(ExitReason::Exited(code)),
        ChildState::Killed(signal) => Some(ExitReason::Killed(signal)),
        ChildState::Stopped | ChildState::Lives => None,
    }
}

/// Ends it: first with SIGTERM, then with SIGKILL.
pub fn end(pid: u32) -> ExitReason {
    process::send(pid, libc::SIGTERM);
    // A stopped process would not handle the signal.
    process::send(pid, libc::SIGCONT);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(ended) = exit_reason(pid) {
            return ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    process::send(pid, libc::SIGKILL);
    wait_for(pid)
}

fn wait_for(pid: u32) -> ExitReason {
    loop {
        if let Some(ended) = exit_reason(pid) {
            return ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Its own status, or 128 + n for signal n, like `env` and shells.
fn status_of(ended: ExitReason) -> Status {
    Status::Program(match ended {
        ExitReason::Exited(code) => code,
        ExitReason::Killed(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
    })
}
