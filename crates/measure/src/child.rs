//! A child process of ours: ended and waited for when its handle is dropped.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::time::Duration;

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
        let step = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        while self.ended().is_none() {
            if waited >= patience {
                self.kill();
                let _ = waitpid(raw(self.pid), WaitOptions::empty());
                self.ended = Some("signal 9".to_owned());
                return;
            }
            std::thread::sleep(step);
            waited += step;
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
