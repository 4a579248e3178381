//! Starts processes that only compute.

use crate::process::{kill_with_parent, send};
use crate::sched::errno;
use std::time::{Duration, Instant};

/// A process that computes until this value is dropped, or until we end.
#[derive(Debug)]
pub struct Spinner {
    pid: u32,
    state: SpinnerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpinnerState {
    Running,
    /// It is killed only once: its number may later belong to another process.
    Killed,
    Reaped,
}

impl Spinner {
    /// Starts one in the same place as this process: in its cgroup, on its CPUs.
    ///
    /// # Errors
    /// The errno: EAGAIN if there are too many processes.
    pub fn start() -> Result<Spinner, i32> {
        let parent = std::process::id();
        // SAFETY: whatever locks other threads hold, the child needs none: it makes two plain system calls and computes.
        match unsafe { libc::fork() } {
            -1 => Err(errno()),
            0 => {
                while kill_with_parent(parent).is_ok() {
                    for _ in 0..1 << 20 {
                        std::hint::spin_loop();
                    }
                }
                // SAFETY: it ends this process at once, and runs none of our code.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Spinner {
                pid: pid.unsigned_abs(),
                state: SpinnerState::Running,
            }),
        }
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it, and waits this long for its end. Returns whether it has ended: it exits on its CPU, which a real-time task
    /// may occupy.
    pub fn end_within(&mut self, patience: Duration) -> bool {
        let start = Instant::now();
        if self.state == SpinnerState::Running {
            send(self.pid, libc::SIGKILL);
            self.state = SpinnerState::Killed;
        }
        while self.state != SpinnerState::Reaped {
            let pid = libc::pid_t::try_from(self.pid).unwrap_or(libc::pid_t::MAX);
            // SAFETY: no status is requested.
            match unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) } {
                0 if start.elapsed() >= patience => break,
                0 => std::thread::sleep(Duration::from_micros(100)),
                -1 if errno() == libc::EINTR => {}
                _ => self.state = SpinnerState::Reaped,
            }
        }
        self.state == SpinnerState::Reaped
    }
}

/// Time limit for the end of one that is dropped.
const PATIENCE: Duration = Duration::from_millis(500);

impl Drop for Spinner {
    fn drop(&mut self) {
        self.end_within(PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_computes_until_it_is_dropped() {
        let spinner = Spinner::start().unwrap();
        let stat = format!("/proc/{}/stat", spinner.pid());
        let computes = || {
            let text = std::fs::read_to_string(&stat).unwrap();
            let fields = text.rsplit_once(") ").unwrap().1;
            fields.split(' ').nth(11).unwrap().parse::<u64>().unwrap() > 0
        };
        while !computes() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(spinner);
        assert!(!std::path::Path::new(&stat).exists());
    }

    #[test]
    fn one_that_has_ended_is_not_killed_again() {
        let mut spinner = Spinner::start().unwrap();
        assert!(spinner.end_within(Duration::from_secs(10)));
        assert!(spinner.end_within(Duration::ZERO));
        assert!(!std::path::Path::new(&format!("/proc/{}", spinner.pid())).exists());
    }
}
