//! A child process of ours: ended and waited for when its handle is dropped.

use crate::os;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::time::Duration;

/// From one look to the next.
const STEP: Duration = Duration::from_millis(2);
/// Looks at a killed process, five seconds together.
const LOOKS: u32 = 2_500;
/// After so many it gets other CPUs, again and again.
const CROWDED: u32 = 25;

/// A child process.
#[derive(Debug)]
pub(crate) struct Child {
    pid: u32,
    ended: Option<String>,
}

impl Child {
    /// Takes over a child that was just forked.
    pub(crate) fn new(pid: u32) -> Child {
        Child { pid, ended: None }
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended; `None` while it lives.
    pub(crate) fn ended(&mut self) -> Option<&str> {
        if self.ended.is_none() {
            self.ended = match waitpid(raw(self.pid), WaitOptions::NOHANG) {
                Ok(None) => None,
                Ok(Some((_, status))) => Some(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => format!("exit status {code}"),
                    (_, Some(signal)) => format!("signal {signal}"),
                    _ => "unknown".to_owned(),
                }),
                // Somebody else has waited for it (SIGCHLD is ignored): it is gone.
                Err(_) => Some("unknown".to_owned()),
            };
        }
        self.ended.as_deref()
    }

    /// Gives it a moment to end by itself, then kills it.
    pub(crate) fn end(&mut self, patience: Duration) {
        let mut waited = Duration::ZERO;
        while self.ended().is_none() {
            if waited >= patience {
                self.kill();
                return self.die();
            }
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }

    /// Waits until a killed process is gone. A thread dies on a CPU: one that gets none on its own is let run where this process
    /// may, and where even that is refused (a partition has only that CPU) nobody waits for ever: it goes when the CPU is free.
    fn die(&mut self) {
        for look in 1..=LOOKS {
            if self.ended().is_some() {
                return;
            }
            if look % CROWDED == 0 {
                self.let_run_elsewhere();
            }
            std::thread::sleep(STEP);
        }
        self.ended = Some("signal 9, and it had no CPU to die on".to_owned());
    }

    fn let_run_elsewhere(&self) {
        let Ok(cpus) = os::allowed() else { return };
        for tid in root::process::threads(self.pid) {
            // What is refused stays where it is, and may be gone already.
            let _ = root::sched::set_affinity(tid, cpus.words());
        }
    }

    /// Sends SIGKILL, unless it has been waited for and its number may be somebody else's.
    pub(crate) fn kill(&mut self) {
        if self.ended.is_none()
            && let Some(pid) = raw(self.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn raw(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
