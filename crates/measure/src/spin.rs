//! The noise sampler: reads a counter as fast as it can and notes every jump.

use crate::counter::Count;
use crate::ring::Writer;
use crate::shared::Track;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the loop leaves behind, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Last reading.
    pub covered: u64,
    /// Gaps of at least the threshold.
    pub seen: u64,
    /// Turns.
    pub turns: u64,
    /// Shortest turn; `u64::MAX` when every turn was a gap.
    pub turn_min: u64,
    /// The gap that reached the limit.
    pub hit: Option<u64>,
}

/// Spins until `length` ticks after `start` have passed or `stop` is set. `start` is when the window began: what stopped the
/// thread between that reading and the first one here is a gap like any other, unless it is no longer than `way_in`, which
/// is our own way. No system call, no allocation, no branch that
/// depends on the counter's kind. The time that recording takes belongs to the next turn, so that an
/// interruption while recording is seen as well.
pub(crate) fn sample<C: Count>(
    track: &Track,
    writer: &mut Writer<'_>,
    stop: &AtomicU32,
    [start, length]: [u64; 2],
    [threshold, limit, way_in]: [u64; 3],
) -> End {
    let end = start.saturating_add(length);
    let first = C::now();
    let mut state = End {
        covered: if first.saturating_sub(start) <= way_in {
            first
        } else {
            start
        },
        seen: 0,
        turns: 0,
        turn_min: u64::MAX,
        hit: None,
    };
    loop {
        // Asked before the time: who is told to stop while it does not have the CPU has not seen yet how long that took.
        let is_told_to_stop = stop.load(Ordering::Relaxed) != 0;
        let now = C::now();
        // A counter that went back (it must not, on one CPU) is no gap of 500 years.
        let gap = now.saturating_sub(state.covered);
        if gap >= threshold {
            state.seen += 1;
            writer.push(state.covered, gap, 0);
            if gap >= limit {
                state.hit = Some(gap);
                state.covered = now;
                state.turns += 1;
                return state;
            }
        } else if gap < state.turn_min {
            state.turn_min = gap;
        }
        state.covered = now;
        state.turns += 1;
        // Who reads this finds every gap before it in the ring.
        track.alive.0.store(now, Ordering::Release);
        if now >= end || is_told_to_stop {
            return state;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::counter::Monotonic;
    use crate::ring::drain;
    use crate::shared::Shared;

    #[test]
    fn what_happens_before_the_first_reading_is_a_gap_too() {
        let shared = Shared::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = Writer::new(track, slots);
        // The window began 50 ms ago, and the thread was not there.
        let start = Monotonic::now() - 50_000_000;
        let stop = AtomicU32::new(0);
        let limits = [40_000_000, u64::MAX, 1_000];
        let end = sample::<Monotonic>(track, &mut writer, &stop, [start, 51_000_000], limits);
        let mut gaps = Vec::new();
        drain(track, slots, |sample| gaps.push((sample.at, sample.value)));
        assert_eq!(gaps.len() as u64, end.seen);
        let (at, length) = gaps[0];
        assert!(at == start && length >= 50_000_000, "{gaps:?}");
        // Nothing of the window is outside of what the loop covers.
        assert!(end.covered >= start + 51_000_000, "{end:?}");
    }

    static TOLD: AtomicU32 = AtomicU32::new(0);

    /// A counter of a thread that loses the CPU after its second reading, and is told to stop before it has it back.
    struct Interrupted;

    impl Count for Interrupted {
        fn now() -> u64 {
            static READINGS: AtomicU32 = AtomicU32::new(0);
            match READINGS.fetch_add(1, Ordering::Relaxed) {
                0 => 100,
                1 => {
                    TOLD.store(1, Ordering::Relaxed);
                    101
                }
                later => 50_000 + u64::from(later),
            }
        }
    }

    #[test]
    fn the_gap_in_which_it_is_told_to_stop_is_seen() {
        let shared = Shared::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = Writer::new(track, slots);
        let end = sample::<Interrupted>(track, &mut writer, &TOLD, [100, 1_000_000], [1_000, u64::MAX, 10]);
        let mut gaps = Vec::new();
        drain(track, slots, |sample| gaps.push((sample.at, sample.value)));
        assert_eq!(gaps, [(101, 49_901)]);
        assert_eq!((end.seen, end.covered), (1, 50_002));
    }

    #[test]
    fn our_own_way_into_the_loop_is_no_gap() {
        let shared = Shared::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = Writer::new(track, slots);
        let start = Monotonic::now() - 50_000_000;
        let stop = AtomicU32::new(0);
        let limits = [10_000_000, u64::MAX, u64::MAX];
        sample::<Monotonic>(track, &mut writer, &stop, [start, 51_000_000], limits);
        drain(track, slots, |sample| assert!(sample.at > start, "{sample:?}"));
    }
}
