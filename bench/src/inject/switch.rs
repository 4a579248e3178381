//! Measures what a preemption costs beyond its own length: waking the thread, and switching to it and back.
//!
//! A sampler's gap is longer than the disturbance by this time, for which the sampler is not responsible. It is
//! measured with the injector's own bare loop, so that the result does not depend on any of the compared tools.

use super::clock::now_ns;
use super::event::{DisturbanceKind, InjectedDisturbance};
use super::schedule::PlannedDisturbance;
use super::{failed, place, preempt};
use std::sync::atomic::{AtomicBool, Ordering};
use xtask::error::TaskResult;

/// Priority of the loop, the same as that of samplers.
const PRIORITY: i32 = 80;
/// Shorter gaps are not caused by a preemption.
const SHORTEST_NS: u64 = 4_000;
/// Maximum number of gaps: a minute on a noisy machine.
const ROOM: usize = 100_000;

/// Runs the schedule against a bare loop on the same CPU. Returns one event per preemption that a gap of the loop
/// covers. Its intended length is that of the preemption.
///
/// # Errors
/// As for preemptions.
pub(crate) fn run(cpu: usize, schedule: &[PlannedDisturbance]) -> TaskResult<Vec<InjectedDisturbance>> {
    place::lock_memory()?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looping = scope.spawn(|| -> TaskResult<Vec<(u64, u64)>> {
            let mut gaps = Vec::with_capacity(ROOM);
            place::pin(&[cpu])?;
            place::fifo(PRIORITY)?;
            let mut before = now_ns();
            while !over.load(Ordering::Relaxed) && gaps.len() < ROOM {
                let now = now_ns();
                if now - before >= SHORTEST_NS {
                    gaps.push((before, now));
                }
                before = now;
            }
            Ok(gaps)
        });
        let preempted = preempt::run(cpu, schedule);
        over.store(true, Ordering::Relaxed);
        let gaps = looping.join().unwrap_or_else(|_| Err(failed("the loop ended early")))?;
        Ok(covering(&gaps, &preempted?))
    })
}

fn covering(gaps: &[(u64, u64)], preempted: &[InjectedDisturbance]) -> Vec<InjectedDisturbance> {
    let around = |event: &InjectedDisturbance| {
        let gap = gaps
            .iter()
            .find(|gap| gap.0 <= event.begin_ns && gap.1 >= event.end_ns)?;
        Some(InjectedDisturbance {
            kind: DisturbanceKind::Switch,
            intended_ns: event.length_ns(),
            begin_ns: gap.0,
            end_ns: gap.1,
        })
    };
    preempted.iter().filter_map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_that_covers_a_preemption_is_found() {
        let event = |begin_ns, end_ns| InjectedDisturbance {
            kind: DisturbanceKind::Preempt,
            intended_ns: 5_000,
            begin_ns,
            end_ns,
        };
        let found = covering(&[(10, 20), (98, 5_203)], &[event(100, 5_200), event(9_000, 14_000)]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].intended_ns, found[0].length_ns()), (5_100, 5_105));
    }
}
