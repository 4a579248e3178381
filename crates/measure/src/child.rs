//! A handle for a child process: dropping it ends the process and waits for it.

use crate::os;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::time::Duration;

/// Time between two checks.
const STEP: Duration = Duration::from_millis(2);
/// Maximum number of checks of a killed process: five seconds in total.
const MAX_POLLS: u32 = 2_500;
/// Number of checks between attempts to give it other CPUs.
const CROWDED: u32 = 25;

/// A child process.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pid: u32,
    exit_text: Option<String>,
}

impl ChildProcess {
    /// Takes ownership of a child that was just forked.
    pub(crate) fn new(pid: u32) -> ChildProcess {
        ChildProcess { pid, exit_text: None }
    }

    /// Its PID.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended; `None` while it is running.
    pub(crate) fn exit_text(&mut self) -> Option<&str> {
        if self.exit_text.is_none() {
            self.exit_text = match waitpid(raw(self.pid), WaitOptions::NOHANG) {
                Ok(None) => None,
                Ok(Some((_, status))) => Some(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (_, Some(signal)) => format!("signal {signal}"),
                    _ => "unknown".to_owned(),
                }),
                // The process was reaped elsewhere (SIGCHLD is ignored).
                Err(_) => Some("unknown".to_owned()),
            };
        }
        self.exit_text.as_deref()
    }

    /// Gives it time to exit by itself, then kills it.
    pub(crate) fn end(&mut self, patience: Duration) {
        let mut waited = Duration::ZERO;
        while self.exit_text().is_none() {
            if waited >= patience {
                self.kill();
                return self.wait_for_exit();
            }
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }

    /// Waits until a killed process has exited. A thread exits on a CPU. If it gets no time on its own CPU, its affinity is set
    /// to the CPUs of this process. If the kernel refuses that (a partition has only that CPU), the wait is bounded: the process
    /// exits when the CPU is free.
    fn wait_for_exit(&mut self) {
        for look in 1..=MAX_POLLS {
            if self.exit_text().is_some() {
                return;
            }
            if look % CROWDED == 0 {
                self.allow_all_cpus();
            }
            std::thread::sleep(STEP);
        }
        self.exit_text = Some("signal 9, and no CPU was free to handle it".to_owned());
    }

    fn allow_all_cpus(&self) {
        let Ok(cpus) = os::allowed() else { return };
        for tid in root::process::threads(self.pid) {
            // A thread whose move is refused stays on its CPU. It may have exited already.
            let _ = root::sched::set_affinity(tid, &cpus.words());
        }
    }

    /// Sends SIGKILL, unless the process has been reaped: its PID may have been reused.
    pub(crate) fn kill(&mut self) {
        if self.exit_text.is_none()
            && let Some(pid) = raw(self.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
