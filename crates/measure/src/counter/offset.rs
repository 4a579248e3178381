//! Measures the offset between the counters of two CPUs before the window, by passing a number back and forth.
//!
//! The other CPU's reading lies between the two readings around it, whatever the latency: each round bounds
//! the difference from both sides. The result is the intersection of all rounds.

use super::CounterSource;
use crate::clock;
use crate::shared::{Track, notify, wait_until};
use machine::CpuId;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Values of [`Track::turn_state`].
mod turn_state {
    /// Answer the requests.
    pub(super) const ANSWER: u32 = 1;
    /// There is nothing to answer, or no longer.
    pub(super) const PASS: u32 = 2;
}

/// Enough rounds to include the shortest round trip.
const ROUNDS: u64 = 2_000;

/// Ends the requests.
const LAST: u64 = u64::MAX;

/// Timeout for the first answer: the thread has to wake up.
const FIRST_NS: u64 = 20_000_000;

/// Timeout for all other answers.
const ALL_NS: u64 = 5_000_000;

/// How long a thread waits for requests.
const ANSWERING_NS: u64 = 50_000_000;

/// The counter of a measured CPU minus that of another, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// The other CPU.
    pub against: CpuId,
    /// Middle of the possible range.
    pub ticks: i64,
    /// Maximum error.
    pub uncertainty: u64,
    /// The shortest round trip.
    pub round_trip: u64,
}

/// The thread's side: answers until the requests end. It sleeps before its turn, so that all other threads are quiet.
pub(crate) fn answer(source: CounterSource, track: &Track) {
    wait_until(&track.must_answer, turn_state::ANSWER);
    if track.must_answer.load(Acquire) != turn_state::ANSWER {
        return;
    }
    let start_ns = clock::monotonic_ns();
    let (mut answered, mut idle) = (0, 0_u32);
    loop {
        let ping = track.ping.0.load(Acquire);
        if ping == LAST {
            return;
        }
        if ping > answered {
            let ticks = source.read_ordered();
            track.pong_ticks.store(ticks, Relaxed);
            track.pong.0.store(ping, Release);
            answered = ping;
            continue;
        }
        idle = idle.wrapping_add(1);
        if idle.is_multiple_of(256) && clock::monotonic_ns().saturating_sub(start_ns) > ANSWERING_NS {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Tells a thread that it gets no requests.
pub(crate) fn pass(track: &Track) {
    if track.must_answer.load(Acquire) == 0 {
        track.must_answer.store(turn_state::PASS, Release);
        notify(&track.must_answer);
    }
}

/// Sends requests to a thread, from the CPU that the caller is pinned to. `None` if it did not answer in time.
pub(crate) fn measure_offset(source: CounterSource, track: &Track, against: CpuId) -> Option<Offset> {
    track.must_answer.store(turn_state::ANSWER, Release);
    notify(&track.must_answer);
    let mut bounds = OffsetBounds::default();
    let mut until = clock::monotonic_ns().saturating_add(FIRST_NS);
    for round in 1..=ROUNDS {
        let before = source.read_ordered();
        track.ping.0.store(round, Release);
        let Some(after) = answer_ticks(source, track, round, until) else {
            break;
        };
        bounds.add(before, track.pong_ticks.load(Relaxed), after);
        if round == 1 {
            until = clock::monotonic_ns().saturating_add(ALL_NS);
        }
    }
    track.ping.0.store(LAST, Release);
    bounds.offset(against)
}

/// The counter reading when the answer of a round arrived.
fn answer_ticks(source: CounterSource, track: &Track, round: u64, until: u64) -> Option<u64> {
    let mut idle = 0_u32;
    while track.pong.0.load(Acquire) != round {
        idle = idle.wrapping_add(1);
        if idle.is_multiple_of(256) && clock::monotonic_ns() > until {
            return None;
        }
        std::hint::spin_loop();
    }
    Some(source.read_ordered())
}

/// The intersection of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OffsetBounds {
    /// Lower and upper bound.
    between: Option<(i64, i64)>,
    round_trip: u64,
}

impl OffsetBounds {
    fn add(&mut self, before: u64, there: u64, after: u64) {
        let at_least = there.wrapping_sub(after).cast_signed();
        let at_most = there.wrapping_sub(before).cast_signed();
        let trip = after.saturating_sub(before);
        (self.between, self.round_trip) = match self.between {
            None => (Some((at_least, at_most)), trip),
            Some((low, high)) => (Some((low.max(at_least), high.min(at_most))), self.round_trip.min(trip)),
        };
    }

    /// If rounds contradict each other (the counters drifted during the measurement), the uncertainty covers their distance.
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
    use crate::shared::SharedMapping;

    #[test]
    fn round_trips_bound_the_offset_from_both_sides() {
        let mut bounds = OffsetBounds::default();
        assert_eq!(bounds.offset(CpuId(0)), None);
        // The other counter is 1,000 ahead; the way there takes 20, then 90, then 300; the way back 200, then 30, then 300.
        for (sent, there, back) in [(5_000, 20, 200), (9_000, 90, 30), (20_000, 300, 300)] {
            bounds.add(sent, sent + there + 1_000, sent + there + back);
        }
        let offset = bounds.offset(CpuId(3)).unwrap();
        assert_eq!((offset.against, offset.round_trip), (CpuId(3), 120));
        assert_eq!((offset.ticks, offset.uncertainty), (995, 25), "between 970 and 1,020");
    }

    #[test]
    fn a_counter_that_is_behind_has_a_negative_offset() {
        let mut bounds = OffsetBounds::default();
        bounds.add(3, u64::MAX - 996, 13);
        let offset = bounds.offset(CpuId(0)).unwrap();
        assert_eq!((offset.ticks, offset.uncertainty), (-1_005, 5));
    }

    #[test]
    fn two_threads_of_this_machine_agree_within_the_uncertainty() {
        let shared = SharedMapping::map(2, 8).unwrap();
        let (track, _) = shared.track(0).unwrap();
        let found = std::thread::scope(|scope| {
            scope.spawn(|| answer(CounterSource::Monotonic, track));
            measure_offset(CounterSource::Monotonic, track, CpuId(0))
        });
        let Some(offset) = found else {
            println!("SKIP: two_threads_of_this_machine_agree_within_the_uncertainty: the machine is too busy");
            return;
        };
        // The same clock for both: the offset must not exceed the uncertainty.
        assert!(offset.ticks.unsigned_abs() <= offset.uncertainty + 1, "{offset:?}");
        assert!(offset.uncertainty <= offset.round_trip, "{offset:?}");
        let (other, _) = shared.track(1).unwrap();
        pass(other);
        answer(CounterSource::Monotonic, other);
        assert_eq!(
            measure_offset(CounterSource::Monotonic, other, CpuId(0)),
            None,
            "nobody is there to answer"
        );
    }
}
