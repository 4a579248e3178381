//! Implements the noise sampler: reads a counter as fast as it can and records every jump.

use crate::counter::TickSource;
use crate::ring::RingWriter;
use crate::shared::Track;
use std::sync::atomic::{AtomicU32, Ordering};

/// The result of the loop, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpinEnd {
    /// Last reading.
    pub covered: u64,
    /// Number of gaps that reached the threshold.
    pub seen: u64,
    /// Iterations.
    pub iterations: u64,
    /// Shortest iteration; `u64::MAX` if every iteration was a gap.
    pub iteration_min: u64,
    /// The gap that reached the limit.
    pub hit: Option<u64>,
}

/// Spins until `length` ticks after `start` have passed or `stop` is set. `start` is the start of the window. An interruption
/// between that reading and the first one here is a normal gap, unless it is at most `way_in`, the time that our own code
/// takes. No system call, no allocation, no branch that depends on the counter's kind. The time that recording takes
/// belongs to the next iteration, so an interruption while recording is seen as well.
pub(crate) fn sample<C: TickSource>(
    track: &Track,
    writer: &mut RingWriter<'_>,
    stop: &AtomicU32,
    [start, length]: [u64; 2],
    [threshold, limit, way_in]: [u64; 3],
) -> SpinEnd {
    let end = start.saturating_add(length);
    let first = C::now();
    let mut state = SpinEnd {
        covered: if first.saturating_sub(start) <= way_in {
            first
        } else {
            start
        },
        seen: 0,
        iterations: 0,
        iteration_min: u64::MAX,
        hit: None,
    };
    loop {
        // Read before the time: if the stop request comes while this thread is preempted, the length of that gap is still recorded.
        let stop_requested = stop.load(Ordering::Relaxed) != 0;
        let now = C::now();
        // A counter that went back (it must not, on one CPU) is not a gap of 500 years.
        let gap = now.saturating_sub(state.covered);
        if gap >= threshold {
            state.seen += 1;
            writer.push(state.covered, gap, 0);
            if gap >= limit {
                state.hit = Some(gap);
                state.covered = now;
                state.iterations += 1;
                return state;
            }
        } else if gap < state.iteration_min {
            state.iteration_min = gap;
        }
        state.covered = now;
        state.iterations += 1;
        // A reader of this value finds every earlier gap in the ring.
        track.last_seen.0.store(now, Ordering::Release);
        if now >= end || stop_requested {
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
    use crate::shared::SharedMapping;

    #[test]
    fn time_before_the_first_reading_counts_as_a_gap() {
        let shared = SharedMapping::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = RingWriter::new(track, slots);
        // The window started 50 ms ago, and the thread was not running.
        let start = Monotonic::now() - 50_000_000;
        let stop = AtomicU32::new(0);
        let limits = [40_000_000, u64::MAX, 1_000];
        let end = sample::<Monotonic>(track, &mut writer, &stop, [start, 51_000_000], limits);
        let mut gaps = Vec::new();
        drain(track, slots, |sample| gaps.push((sample.at, sample.value)));
        assert_eq!(gaps.len() as u64, end.seen);
        let (at, length) = gaps[0];
        assert!(at == start && length >= 50_000_000, "{gaps:?}");
        // The loop covers the whole window.
        assert!(end.covered >= start + 51_000_000, "{end:?}");
    }

    static ANSWER: AtomicU32 = AtomicU32::new(0);

    /// A counter of a thread that loses the CPU after its second reading, and is asked to stop before it runs again.
    struct Interrupted;

    impl TickSource for Interrupted {
        fn now() -> u64 {
            static READINGS: AtomicU32 = AtomicU32::new(0);
            match READINGS.fetch_add(1, Ordering::Relaxed) {
                0 => 100,
                1 => {
                    ANSWER.store(1, Ordering::Relaxed);
                    101
                }
                later => 50_000 + u64::from(later),
            }
        }
    }

    #[test]
    fn the_gap_during_which_the_stop_arrives_is_recorded() {
        let shared = SharedMapping::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = RingWriter::new(track, slots);
        let end = sample::<Interrupted>(track, &mut writer, &ANSWER, [100, 1_000_000], [1_000, u64::MAX, 10]);
        let mut gaps = Vec::new();
        drain(track, slots, |sample| gaps.push((sample.at, sample.value)));
        assert_eq!(gaps, [(101, 49_901)]);
        assert_eq!((end.seen, end.covered), (1, 50_002));
    }

    #[test]
    fn entering_the_loop_is_no_gap() {
        let shared = SharedMapping::map(1, 64).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = RingWriter::new(track, slots);
        let start = Monotonic::now() - 50_000_000;
        let stop = AtomicU32::new(0);
        let limits = [10_000_000, u64::MAX, u64::MAX];
        sample::<Monotonic>(track, &mut writer, &stop, [start, 51_000_000], limits);
        drain(track, slots, |sample| assert!(sample.at > start, "{sample:?}"));
    }
}
