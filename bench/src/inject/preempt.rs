//! Takes the CPU away from a sampler, by a thread with a higher priority that is busy for a known time.

use super::clock::{now_ns, sleep_until};
use super::event::{DisturbanceKind, InjectedDisturbance};
use super::schedule::PlannedDisturbance;
use super::{in_a_placed_thread, place};
use xtask::error::TaskResult;

/// Above the samplers' 80 and below the kernel's own 99.
const PRIORITY: i32 = 95;
/// Time for the thread to move to its CPU before the schedule starts.
const AHEAD_NS: u64 = 10_000_000;

/// Runs the schedule on that CPU.
///
/// # Errors
/// The machine does not permit the CPU or the priority.
pub(crate) fn run(cpu: usize, schedule: &[PlannedDisturbance]) -> TaskResult<Vec<InjectedDisturbance>> {
    place::lock_memory()?;
    let mut events = Vec::with_capacity(schedule.len());
    in_a_placed_thread(
        || {
            place::pin(&[cpu])?;
            place::fifo(PRIORITY)
        },
        move || {
            let start = now_ns() + AHEAD_NS;
            for planned in schedule {
                sleep_until(start + planned.at_ns);
                let begin_ns = now_ns();
                let mut end_ns = begin_ns;
                while end_ns < begin_ns + planned.length_ns {
                    end_ns = now_ns();
                }
                events.push(InjectedDisturbance {
                    kind: DisturbanceKind::Preempt,
                    intended_ns: planned.length_ns,
                    begin_ns,
                    end_ns,
                });
            }
            events
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::schedule;
    use super::*;

    #[test]
    fn busy_times_have_the_planned_length_and_order() {
        // SAFETY: a plain call without arguments.
        if unsafe { libc::geteuid() } != 0 {
            println!("SKIP: busy_times_have_the_planned_length_and_order: needs root for a FIFO priority");
            return;
        }
        let schedule = schedule::of(&[20_000, 20_000, 1_000_000, 3_000_000], 60, 1).unwrap();
        let events = match run(0, &schedule) {
            Ok(events) => events,
            Err(why) => {
                println!("SKIP: busy_times_have_the_planned_length_and_order: {why}");
                return;
            }
        };
        assert_eq!(events.len(), 4);
        for (event, planned) in events.iter().zip(&schedule) {
            assert_eq!(event.intended_ns, planned.length_ns);
            assert!(event.length_ns() >= planned.length_ns, "{event}");
        }
        assert!(events.windows(2).all(|two| two[0].end_ns < two[1].begin_ns));
        let distance = |a: usize, b: usize| schedule[b].at_ns - schedule[a].at_ns;
        // An event is never early, whatever else runs on the machine.
        assert!(events[3].begin_ns - events[0].begin_ns + 5_000_000 > distance(0, 3));
    }
}
