//! How far the counters of two CPUs are apart: asked before the window, by sending a number to and fro.
//!
//! What the other CPU read lies between the two readings around it, whatever the way there took: each round bounds
//! the difference from both sides, and all rounds together bound it by what they have in common.

use super::Source;
use crate::clock;
use crate::shared::{Track, notify, wait_until};
use machine::CpuId;
use std::sync::atomic::Ordering;

/// Values of [`Track::turn`].
mod turn {
    /// Answer what is asked.
    pub(super) const ANSWER: u32 = 1;
    /// There is nothing to answer, or no longer.
    pub(super) const PASS: u32 = 2;
}

/// Enough for the shortest way to be among them.
const ROUNDS: u64 = 2_000;

/// The end of the questions.
const LAST: u64 = u64::MAX;

/// How long the first answer may take: the thread has to wake up.
const FIRST_NS: u64 = 20_000_000;

/// How long all the others may take.
const ALL_NS: u64 = 5_000_000;

/// How long a thread waits for questions.
const ANSWERING_NS: u64 = 50_000_000;

/// The counter of a measured CPU less that of another, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The other.
    pub against: CpuId,
    /// Middle of what is possible.
    pub ticks: i64,
    /// It may be off by so much.
    pub uncertainty: u64,
    /// The shortest way to and fro.
    pub round_trip: u64,
}

/// The thread's part: answers until nobody asks. It sleeps before its turn, so that all but one are quiet.
pub(crate) fn answer(source: Source, track: &Track) {
    wait_until(&track.turn, turn::ANSWER);
    if track.turn.load(Ordering::Acquire) != turn::ANSWER {
        return;
    }
    let begun = clock::monotonic_ns();
    let (mut answered, mut idle) = (0, 0_u32);
    loop {
        let asked = track.ping.0.load(Ordering::Acquire);
        if asked == LAST {
            return;
        }
        if asked > answered {
            let ticks = source.read_ordered();
            track.pong_ticks.store(ticks, Ordering::Relaxed);
            track.pong.0.store(asked, Ordering::Release);
            answered = asked;
            continue;
        }
        idle = idle.wrapping_add(1);
        if idle.is_multiple_of(256) && clock::monotonic_ns().saturating_sub(begun) > ANSWERING_NS {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Nothing is asked of this thread.
pub(crate) fn pass(track: &Track) {
    if track.turn.load(Ordering::Acquire) == 0 {
        track.turn.store(turn::PASS, Ordering::Release);
        notify(&track.turn);
    }
}

/// Asks a thread, from the CPU that the caller is pinned to. `None` when it did not come to answer in time.
pub(crate) fn ask(source: Source, track: &Track, against: CpuId) -> Option<Offset> {
    track.turn.store(turn::ANSWER, Ordering::Release);
    notify(&track.turn);
    let mut bounds = Bounds::default();
    let mut until = clock::monotonic_ns().saturating_add(FIRST_NS);
    for round in 1..=ROUNDS {
        let before = source.read_ordered();
        track.ping.0.store(round, Ordering::Release);
        let Some(after) = answered(source, track, round, until) else {
            break;
        };
        bounds.add(before, track.pong_ticks.load(Ordering::Relaxed), after);
        if round == 1 {
            until = clock::monotonic_ns().saturating_add(ALL_NS);
        }
    }
    track.ping.0.store(LAST, Ordering::Release);
    bounds.offset(against)
}

/// When the answer of a round was there.
fn answered(source: Source, track: &Track, round: u64, until: u64) -> Option<u64> {
    let mut idle = 0_u32;
    while track.pong.0.load(Ordering::Acquire) != round {
        idle = idle.wrapping_add(1);
        if idle.is_multiple_of(256) && clock::monotonic_ns() > until {
            return None;
        }
        std::hint::spin_loop();
    }
    Some(source.read_ordered())
}

/// What all rounds have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bounds {
    /// At least, and at most.
    between: Option<(i64, i64)>,
    round_trip: u64,
}

impl Bounds {
    fn add(&mut self, before: u64, there: u64, after: u64) {
        let at_least = there.wrapping_sub(after).cast_signed();
        let at_most = there.wrapping_sub(before).cast_signed();
        let trip = after.saturating_sub(before);
        (self.between, self.round_trip) = match self.between {
            None => (Some((at_least, at_most)), trip),
            Some((low, high)) => (
                Some((low.max(at_least), high.min(at_most))),
                self.round_trip.min(trip),
            ),
        };
    }

    /// Rounds that contradict each other (the counters ran apart meanwhile) are told by a doubt of their distance.
    fn offset(self, against: CpuId) -> Option<Offset> {
        let (low, high) = self.between?;
        let width = high.wrapping_sub(low);
        Some(Offset {
            against,
            ticks: low.wrapping_add(width / 2),
            uncertainty: width.unsigned_abs().div_ceil(2),
            round_trip: self.round_trip,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::Shared;

    #[test]
    fn ways_of_different_lengths_bound_the_difference_from_both_sides() {
        let mut bounds = Bounds::default();
        assert_eq!(bounds.offset(CpuId(0)), None);
        // The other counter is 1,000 ahead; the way there takes 20 and then 90, the way back 200 and then 30.
        for (sent, there, back) in [(5_000, 20, 200), (9_000, 90, 30), (20_000, 300, 300)] {
            bounds.add(sent, sent + there + 1_000, sent + there + back);
        }
        let offset = bounds.offset(CpuId(3)).unwrap();
        assert_eq!((offset.against, offset.round_trip), (CpuId(3), 120));
        assert_eq!(
            (offset.ticks, offset.uncertainty),
            (995, 25),
            "between 970 and 1,020"
        );
    }

    #[test]
    fn a_counter_that_is_behind_has_a_negative_offset_whatever_its_value() {
        let mut bounds = Bounds::default();
        bounds.add(3, u64::MAX - 996, 13);
        let offset = bounds.offset(CpuId(0)).unwrap();
        assert_eq!((offset.ticks, offset.uncertainty), (-1_005, 5));
    }

    #[test]
    fn two_threads_of_this_machine_agree_within_their_way() {
        let shared = Shared::map(2, 8).unwrap();
        let (track, _) = shared.track(0).unwrap();
        let found = std::thread::scope(|scope| {
            scope.spawn(|| answer(Source::Monotonic, track));
            ask(Source::Monotonic, track, CpuId(0))
        });
        let Some(offset) = found else {
            println!("SKIP: two_threads_of_this_machine_agree_within_their_way: the machine is too busy");
            return;
        };
        // One clock for all: what the two are apart cannot be more than what is not known.
        assert!(
            offset.ticks.unsigned_abs() <= offset.uncertainty + 1,
            "{offset:?}"
        );
        assert!(offset.uncertainty <= offset.round_trip, "{offset:?}");
        let (other, _) = shared.track(1).unwrap();
        pass(other);
        answer(Source::Monotonic, other);
        assert_eq!(
            ask(Source::Monotonic, other, CpuId(0)),
            None,
            "nobody is there to answer"
        );
    }
}
