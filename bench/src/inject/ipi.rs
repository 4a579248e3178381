//! Interrupts another CPU: reading a perf event that counts there makes the kernel call a function on that CPU.

use super::clock::{now_ns, sleep_until};
use super::event::{DisturbanceKind, InjectedDisturbance};
use super::schedule::PlannedDisturbance;
use super::{failed, in_a_placed_thread, place};
use lab::perf::{counter_on, function_calls};
use std::io::Read;
use xtask::error::TaskResult;

/// Priority of the sender, high enough to act in time on a housekeeping CPU, as for stops.
const PRIORITY: i32 = 50;

/// Sends one interrupt per planned event to that CPU. The kernel's own count of function calls on the CPU must confirm
/// them. A CPU that idles in a polling loop is called without an interrupt, so a few may be missing.
///
/// # Errors
/// No perf events are available, or they interrupt no CPU.
pub(crate) fn run(cpu: usize, schedule: &[PlannedDisturbance]) -> TaskResult<Vec<InjectedDisturbance>> {
    let number = u32::try_from(cpu).map_err(failed)?;
    let mut counter = counter_on(number).map_err(failed)?;
    place::lock_memory()?;
    let mut events = Vec::with_capacity(schedule.len());
    let before = function_calls(number).map_err(failed)?;
    let events = in_a_placed_thread(
        || place::fifo(PRIORITY),
        move || {
            let start = now_ns();
            let mut value = [0_u8; 8];
            for planned in schedule {
                sleep_until(start + planned.at_ns);
                let begin_ns = now_ns();
                if counter.read_exact(&mut value).is_err() {
                    break;
                }
                events.push(InjectedDisturbance {
                    kind: DisturbanceKind::Ipi,
                    intended_ns: 0,
                    begin_ns,
                    end_ns: now_ns(),
                });
            }
            events
        },
    )?;
    let counted = function_calls(number).map_err(failed)?.saturating_sub(before);
    if counted < events.len() as u64 / 2 {
        return Err(failed(format!(
            "CPU {cpu} counted {counted} function-call interrupts for {} reads: nothing known was injected",
            events.len()
        )));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::super::schedule;
    use super::*;

    #[test]
    fn reading_a_counter_interrupts_its_cpu() {
        let name = "reading_a_counter_interrupts_its_cpu";
        let online = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: a plain call without arguments.
        if unsafe { libc::geteuid() } != 0 || online < 2 {
            println!("SKIP: {name}: needs root and two CPUs");
            return;
        }
        let schedule = schedule::of(&[0; 50], 40, 1).unwrap();
        // Runs on CPU 0, because no CPU interrupts itself, and in a separate thread, because only that thread is
        // pinned.
        let done = std::thread::spawn(move || {
            place::pin(&[0])?;
            run(1, &schedule)
        });
        match done.join().unwrap() {
            Ok(events) => {
                assert_eq!(events.len(), 50, "and the kernel counted them");
                assert!(events.windows(2).all(|two| two[0].end_ns <= two[1].begin_ns));
            }
            Err(why) if why.to_string().contains("no perf event") => println!("SKIP: {name}: {why}"),
            Err(why) => panic!("{why}"),
        }
    }
}
