//! Implements a ring for one writer and one reader in different processes.
//!
//! One store (`head`) publishes a sample together with the count of all samples missed before it, so that the two
//! agree even if the writer is killed between any two instructions. A full ring drops the new sample and
//! counts it: the writer never waits.

use crate::shared::{RingSlot, Track};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// One sample, passed from a sampler to the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RingSample {
    /// Latency: the expected time in nanoseconds. Noise: the start of the gap in ticks.
    pub at: u64,
    /// Latency in nanoseconds (see [`RingSample::lateness`]), or gap in ticks.
    pub value: u64,
    /// Total missed when this sample was complete, including the expected wake-ups that it skipped.
    pub missed: u64,
}

impl RingSample {
    /// Latency with its sign: negative if early.
    pub(crate) fn lateness(self) -> i64 {
        self.value.cast_signed()
    }
}

/// The sampler's end. Its positions are in registers or on the stack. It reads the reader's position only when the
/// ring seems full, so that the two sides do not share a cache line otherwise.
pub(crate) struct RingWriter<'a> {
    track: &'a Track,
    slots: &'a [RingSlot],
    head: u64,
    known_tail: u64,
    /// Total number missed.
    pub(crate) missed: u64,
    /// The part of it that did not fit in the ring.
    pub(crate) dropped: u64,
}

impl<'a> RingWriter<'a> {
    /// A writer for an empty ring.
    pub(crate) fn new(track: &'a Track, slots: &'a [RingSlot]) -> RingWriter<'a> {
        RingWriter {
            track,
            slots,
            head: 0,
            known_tail: 0,
            missed: 0,
            dropped: 0,
        }
    }

    /// Writes to every slot, so that no page of the ring is first touched during the window.
    pub(crate) fn touch(&self) {
        for slot in self.slots {
            slot.at.store(0, Relaxed);
        }
    }

    /// Adds a sample, and `skipped` expected wake-ups that were missed because of it.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, value: u64, skipped: u64) {
        self.missed += skipped;
        let size = self.slots.len() as u64;
        if self.head - self.known_tail >= size {
            self.known_tail = self.track.tail.0.load(Acquire);
            if self.head - self.known_tail >= size {
                self.missed += 1;
                self.dropped += 1;
                return;
            }
        }
        let place = (self.head & (size - 1)) as usize;
        if let Some(slot) = self.slots.get(place) {
            slot.at.store(at, Relaxed);
            slot.value.store(value, Relaxed);
            slot.missed.store(self.missed, Relaxed);
            self.head += 1;
            self.track.head.0.store(self.head, Release);
        }
    }
}

/// Removes all samples from the ring, oldest first.
pub(crate) fn drain(track: &Track, slots: &[RingSlot], mut each: impl FnMut(RingSample)) {
    let head = track.head.0.load(Acquire);
    let mut tail = track.tail.0.load(Relaxed);
    let size = slots.len() as u64;
    while tail < head {
        let Some(slot) = slots.get((tail & (size - 1)) as usize) else {
            break;
        };
        each(RingSample {
            at: slot.at.load(Relaxed),
            value: slot.value.load(Relaxed),
            missed: slot.missed.load(Relaxed),
        });
        tail += 1;
    }
    track.tail.0.store(tail, Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::SharedMapping;

    #[test]
    fn the_ring_keeps_the_order_and_counts_lost_samples() {
        let shared = SharedMapping::map(1, 8).unwrap();
        let (track, slots) = shared.track(0).unwrap();
        let mut writer = RingWriter::new(track, slots);
        let (mut next, mut recorded, mut last_missed) = (0, 0, 0);
        for round in 0..100_u64 {
            let pushed = round % 12; // some rounds overflow the 8 slots
            for value in 0..pushed {
                writer.push(round * 100 + value, value, 0);
            }
            let mut first_in_round = true;
            drain(track, slots, |sample| {
                assert!(sample.at >= next, "{} after {next}", sample.at);
                next = sample.at + 1;
                if first_in_round {
                    assert_eq!(sample.value, 0);
                }
                first_in_round = false;
                recorded += 1;
                last_missed = sample.missed;
            });
        }
        let total: u64 = (0..100).map(|round| round % 12).sum();
        assert_eq!(recorded + writer.missed, total);
        assert!(writer.missed > 0 && last_missed <= writer.missed);
        assert!(shared.track(1).is_none());
    }

    #[test]
    fn no_sample_is_lost_silently_between_two_threads() {
        let shared = SharedMapping::map(1, 64).unwrap();
        let (mut recorded, mut sum) = (0_u64, 0_u64);
        let total = 200_000_u64;
        let (missed, pushed_sum) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let (track, slots) = shared.track(0).unwrap();
                let mut writer = RingWriter::new(track, slots);
                let mut kept = 0;
                for value in 0..total {
                    let before = writer.missed;
                    writer.push(value, value, 0);
                    if writer.missed == before {
                        kept += value;
                    }
                }
                (writer.missed, kept)
            });
            let (track, slots) = shared.track(0).unwrap();
            while !writer.is_finished() {
                drain(track, slots, |sample| {
                    assert_eq!(sample.at, sample.value, "torn sample");
                    recorded += 1;
                    sum += sample.value;
                });
            }
            drain(track, slots, |sample| {
                recorded += 1;
                sum += sample.value;
            });
            writer.join().unwrap()
        });
        assert_eq!((recorded + missed, sum), (total, pushed_sum));
    }
}
