//! Stops whole processes: SIGSTOP, and SIGCONT a known time later. Needs no kernel feature, so it works with every
//! tool.

use super::clock::{now_ns, sleep_until};
use super::event::{DisturbanceKind, InjectedDisturbance};
use super::schedule::PlannedDisturbance;
use super::{failed, in_a_placed_thread, place};
use std::io::Error;
use xtask::error::TaskResult;

/// High enough to act in time on a busy housekeeping CPU, and below every sampler.
const PRIORITY: i32 = 50;

/// Runs the schedule on these processes together: a tool and its children. They are running again afterwards.
///
/// # Errors
/// A process does not exist, or this user may not signal it.
pub(crate) fn run(pids: &[u64], schedule: &[PlannedDisturbance]) -> TaskResult<Vec<InjectedDisturbance>> {
    let mut family = Vec::new();
    for &pid in pids {
        let pid = libc::pid_t::try_from(pid).map_err(|_| failed(format!("{pid} is no process")))?;
        if pid <= 1 {
            return Err(failed(format!("process {pid} is never stopped")));
        }
        signal(pid, 0)?;
        family.push(pid);
    }
    place::lock_memory()?;
    let mut events = Vec::with_capacity(schedule.len());
    in_a_placed_thread(
        || place::fifo(PRIORITY),
        move || {
            let start = now_ns();
            for planned in schedule {
                sleep_until(start + planned.at_ns);
                let stopped = signal_all(&family, libc::SIGSTOP);
                let begin_ns = now_ns();
                sleep_until(begin_ns + planned.length_ns);
                let end_ns = now_ns();
                // Before anything else: otherwise an error would leave a process stopped.
                let continued = signal_all(&family, libc::SIGCONT);
                if stopped.and(continued).is_err() {
                    break;
                }
                events.push(InjectedDisturbance {
                    kind: DisturbanceKind::Stop,
                    intended_ns: planned.length_ns,
                    begin_ns,
                    end_ns,
                });
            }
            events
        },
    )
}

/// Sends a signal to all of them, and returns the first error.
fn signal_all(family: &[libc::pid_t], number: i32) -> TaskResult {
    family
        .iter()
        .map(|&pid| signal(pid, number))
        .fold(Ok(()), TaskResult::and)
}

fn signal(pid: libc::pid_t, signal: i32) -> TaskResult {
    // SAFETY: a plain call.
    if unsafe { libc::kill(pid, signal) } != 0 {
        return Err(failed(format!("process {pid}: {}", Error::last_os_error())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::schedule;
    use super::*;
    use std::process::Command;

    #[test]
    fn a_stopped_process_pauses_and_continues() {
        // SAFETY: a plain call without arguments.
        if unsafe { libc::geteuid() } != 0 {
            println!("SKIP: a_stopped_process_pauses_and_continues: needs root");
            return;
        }
        let mut child = Command::new("sleep").arg("0.2").spawn().unwrap();
        let schedule = schedule::of(&[400_000_000], 420, 1).unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        let watching = std::thread::spawn(move || {
            // Waits while the process exists and is not reaped yet. T means stopped, Z means ended.
            loop {
                let text = std::fs::read_to_string(&stat).unwrap_or_default();
                match text.rsplit_once(") ").map(|(_, rest)| &rest[..1]) {
                    Some("T") => return true,
                    Some("Z") | None => return false,
                    Some(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            }
        });
        let events = match run(&[u64::from(child.id())], &schedule) {
            Ok(events) => events,
            Err(why) => {
                child.wait().unwrap();
                println!("SKIP: a_stopped_process_pauses_and_continues: {why}");
                return;
            }
        };
        assert_eq!(events.len(), 1);
        assert!(events[0].length_ns() >= 400_000_000);
        assert!(child.wait().unwrap().success(), "continued, so it could end");
        assert!(watching.join().unwrap(), "and it was stopped meanwhile");
        assert!(run(&[u64::from(u32::MAX)], &schedule).is_err());
        assert!(run(&[1], &schedule).unwrap_err().to_string().contains("never stopped"));
    }
}
