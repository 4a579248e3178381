//! Watches the clocks while the samplers run, to detect that the wall clock was set or the machine was suspended.
//!
//! Between two steps, the difference of `CLOCK_REALTIME` and `CLOCK_MONOTONIC` is constant (both are slewed
//! together). So is that of `CLOCK_BOOTTIME` and `CLOCK_MONOTONIC` while the machine is awake. The collector checks
//! both, so that the samplers need not.

use crate::findings::note;
use crate::{Clock, Lane, Note, NoteLevel, clock};
use machine::Nanos;

/// Smaller differences come from reading two clocks one after the other.
const STEP_NS: u64 = 1_000_000;

/// Maximum number of listed steps.
const MOST: usize = 20;

/// The last observed clock differences.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockDifferences {
    /// Difference from `CLOCK_MONOTONIC`.
    realtime: Option<i64>,
    boottime: Option<i64>,
    /// When the wall clock was set, since the window started, and by how much.
    steps: Vec<(u64, i64)>,
    suspended_ns: u64,
}

impl ClockDifferences {
    /// Reads the clocks at a time since the window started.
    pub(super) fn read(&mut self, elapsed_ns: u64) {
        self.compare(elapsed_ns, offset(Clock::Realtime), offset(Clock::Boottime));
    }

    fn compare(&mut self, elapsed_ns: u64, realtime: Option<i64>, boottime: Option<i64>) {
        if let Some(step) = step(self.realtime, realtime)
            && self.steps.len() < MOST
        {
            self.steps.push((elapsed_ns, step));
        }
        if let Some(step) = step(self.boottime, boottime) {
            self.suspended_ns = self.suspended_ns.saturating_add(step.unsigned_abs());
        }
        self.realtime = realtime.or(self.realtime);
        self.boottime = boottime.or(self.boottime);
    }

    /// Findings about the clocks.
    pub(super) fn notes(&self, lanes: &[Lane]) -> Vec<Note> {
        let is_measured = |lane: &Lane| matches!(lane.clock, Clock::Realtime | Clock::Tai);
        let (level, fix) = match lanes.iter().any(is_measured) {
            true => (
                NoteLevel::Error,
                "the samples at that time show the jump; measure again, or with --clock monotonic",
            ),
            false => (NoteLevel::Info, ""),
        };
        let steps = self.steps.iter().map(|(at, step)| {
            let way = if *step > 0 { "forward" } else { "back" };
            let message = format!(
                "The wall clock was set {way} by {} about {} after the start.",
                Nanos(step.unsigned_abs()),
                Nanos(*at)
            );
            note(level, "clock_jumped", "CLOCK_REALTIME", message, fix)
        });
        let suspended = (self.suspended_ns > 0).then(|| {
            note(
                NoteLevel::Warning,
                "suspended",
                "machine",
                format!(
                    "The machine was suspended for {} during the measurement.",
                    Nanos(self.suspended_ns)
                ),
                "measure again while it stays awake",
            )
        });
        steps.chain(suspended).collect()
    }
}

fn step(before: Option<i64>, now: Option<i64>) -> Option<i64> {
    let step = now?.wrapping_sub(before?);
    (step.unsigned_abs() >= STEP_NS).then_some(step)
}

/// Difference of a clock from `CLOCK_MONOTONIC`; `None` if every pair of readings was interrupted.
fn offset(other: Clock) -> Option<i64> {
    (0..5).find_map(|_| {
        let (before, at, after) = (clock::monotonic_ns(), other.now_ns(), clock::monotonic_ns());
        let width = after.saturating_sub(before);
        (width < STEP_NS / 4).then(|| at.wrapping_sub(before + width / 2).cast_signed())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuId;
    use std::time::Duration;

    #[test]
    fn clock_steps_are_reported_and_slewing_is_not() {
        let mut clocks = ClockDifferences::default();
        let second = 1_000_000_000;
        clocks.compare(0, Some(50), Some(9));
        clocks.compare(1, Some(900_000), Some(9));
        assert!(clocks.notes(&[]).is_empty());
        clocks.compare(2 * second, Some(5_000_900_000), None);
        clocks.compare(3 * second, None, Some(9));
        clocks.compare(4 * second, Some(900_000), Some(9 + 7_000_000_000));
        let mut lane = Lane::latency(CpuId(0), Duration::from_secs(1));
        let reported = |lane: &Lane| -> Vec<(String, NoteLevel)> {
            let notes = clocks.notes(std::slice::from_ref(lane));
            notes.into_iter().map(|note| (note.message, note.level)).collect()
        };
        let notes = reported(&lane);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].0.contains("forward by 5.00 s") && notes[0].1 == NoteLevel::Info);
        assert!(notes[1].0.contains("back by 5.00 s"));
        assert!(notes[2].0.contains("suspended for 7.00 s") && notes[2].1 == NoteLevel::Warning);
        lane.clock = Clock::Tai;
        assert_eq!(reported(&lane)[0].1, NoteLevel::Error);
    }

    #[test]
    fn a_quiet_machine_has_no_clock_notes() {
        let mut clocks = ClockDifferences::default();
        (0..200).for_each(|at| clocks.read(at));
        assert!(clocks.notes(&[]).is_empty() && clocks.boottime.is_some());
    }
}
