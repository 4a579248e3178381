//! Starts processes that only compute.

use crate::process::{kill_with_parent, send};
use crate::sched::errno;
use std::time::{Duration, Instant};

/// A process that computes until this value is dropped, or until we end.
#[derive(Debug)]
pub struct Spinner {
    pid: u32,
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
            }),
        }
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

/// Time limit for its end: it dies on its CPU, which a real-time task may occupy.
const PATIENCE: Duration = Duration::from_millis(500);

impl Drop for Spinner {
    fn drop(&mut self) {
        send(self.pid, libc::SIGKILL);
        let Ok(pid) = libc::pid_t::try_from(self.pid) else {
            return;
        };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            // SAFETY: no status is requested.
            match unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) } {
                0 => std::thread::sleep(Duration::from_micros(100)),
                -1 if errno() == libc::EINTR => {}
                _ => return,
            }
        }
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
}
