//! Accumulates the samples of one thread: histograms of its samples, of its schedule and of its period, and the longest
//! samples with their times.

use crate::course::{Course, IntervalValue};
use crate::ring::RingSample;
use crate::stats::TickStatistics;
use crate::timer::Grid;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which samples are listed individually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleListing {
    /// Minimum value, in the thread's own ticks.
    pub from: u64,
    /// Maximum number of listed samples; the longest are kept.
    pub most: usize,
}

/// Origin of a gap: caused by this tool or by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Caused by the machine.
    Others,
    /// Caused by one of our own wake-ups on the same CPU.
    OwnWakeUp,
}

/// Gaps that this tool caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnWakeUps {
    /// How many.
    pub count: u64,
    /// Their sum in ticks.
    pub sum: u64,
    /// The longest gap that this tool did not cause.
    pub others_max: Option<u64>,
}

/// The samples of one lane, in its own ticks.
pub(crate) struct Accumulator {
    /// The samples themselves.
    pub(crate) raw: TickStatistics,
    /// Statistics that exist only for wake-ups.
    pub(crate) wake_ups: Option<WakeUps>,
    longest: BinaryHeap<Reverse<(u64, u64, Cause)>>,
    /// Gaps caused by our own wake-ups.
    pub(crate) own: OwnWakeUps,
    listed: SampleListing,
    /// Number of samples long enough to be listed, whether or not there was room.
    pub(crate) reached: u64,
    above: ExceedanceCount,
    /// The samples over time, without our own wake-ups.
    pub(crate) course: Course,
    /// The newest sample.
    pub(crate) last: Option<RingSample>,
}

/// Counts for a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ExceedanceCount {
    /// In the thread's own ticks.
    limit: Option<u64>,
    count: u64,
}

/// When a thread wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeUpSchedule {
    /// At times that are known in advance.
    Grid(Grid),
    /// This many nanoseconds after its last clock reading: a delay shifts all later wake-ups.
    After(u64),
}

/// Statistics that exist only for threads that wake up.
pub(crate) struct WakeUps {
    rhythm: WakeUpSchedule,
    /// Every expected activation, including those that a late one skipped.
    pub schedule: TickStatistics,
    /// Deviation of the interval between two wake-ups from the interval between their expected times.
    pub jitter: TickStatistics,
    /// How early the thread woke up.
    pub early: TickStatistics,
    /// Largest deviation above, and below, the expected interval.
    pub longer: u64,
    /// See `longer`.
    pub shorter: u64,
}

impl Accumulator {
    /// An accumulator for gaps. Keeps the listed ones with their times. `None` if the buckets cannot be allocated.
    pub(crate) fn of_gaps(listed: SampleListing) -> Option<Accumulator> {
        Some(Accumulator {
            raw: TickStatistics::new()?,
            wake_ups: None,
            longest: BinaryHeap::new(),
            own: OwnWakeUps::default(),
            listed,
            reached: 0,
            above: ExceedanceCount::default(),
            course: Course::new(IntervalValue::Sum),
            last: None,
        })
    }

    /// An accumulator for the wake-ups of a thread; `None` if its buckets cannot be allocated.
    pub(crate) fn of_wake_ups(listed: SampleListing, rhythm: WakeUpSchedule) -> Option<Accumulator> {
        let wake_ups = WakeUps {
            rhythm,
            schedule: TickStatistics::new()?,
            jitter: TickStatistics::new()?,
            early: TickStatistics::new()?,
            longer: 0,
            shorter: 0,
        };
        Some(Accumulator {
            wake_ups: Some(wake_ups),
            course: Course::new(IntervalValue::Largest),
            ..Accumulator::of_gaps(listed)?
        })
    }

    /// Sets the expected wake-up times, which are known once the window starts.
    pub(crate) fn follow(&mut self, grid: Grid) {
        if let Some(wake_ups) = &mut self.wake_ups
            && matches!(wake_ups.rhythm, WakeUpSchedule::Grid(_))
        {
            wake_ups.rhythm = WakeUpSchedule::Grid(grid);
        }
    }

    /// Adds one sample.
    pub(crate) fn add(&mut self, sample: RingSample) {
        self.add_of(sample, Cause::Others);
    }

    /// Adds one sample with its cause.
    pub(crate) fn add_of(&mut self, sample: RingSample, cause: Cause) {
        // Only wake-ups can be early; a gap has no sign.
        let value = match &mut self.wake_ups {
            Some(wake_ups) => wake_ups.add(sample, self.last),
            None => sample.value,
        };
        self.raw.add(value);
        match cause {
            Cause::Others => {
                self.own.others_max = self.own.others_max.max(Some(value));
                self.course.add(sample.at, value);
            }
            Cause::OwnWakeUp => {
                self.own.count += 1;
                self.own.sum = self.own.sum.saturating_add(value);
            }
        }
        if let Some(limit) = self.above.limit
            && value > limit
        {
            self.above.count += match self.wake_ups.as_ref().map(|wake_ups| wake_ups.rhythm) {
                // The late wake-up skipped these activations; count those that were late enough.
                Some(WakeUpSchedule::Grid(grid)) => {
                    let late_enough = (value - limit - 1) / grid.interval;
                    grid.skipped(sample.at, value).min(late_enough) + 1
                }
                _ => 1,
            };
        }
        if value >= self.listed.from {
            self.list((value, sample.at, cause));
        }
        self.last = Some(sample);
    }

    fn list(&mut self, entry: (u64, u64, Cause)) {
        self.reached += 1;
        if self.longest.len() < self.listed.most {
            self.longest.push(Reverse(entry));
        } else if self
            .longest
            .peek()
            .is_some_and(|Reverse((shortest, _, _))| *shortest < entry.0)
        {
            self.longest.pop();
            self.longest.push(Reverse(entry));
        }
    }

    /// Starts counting samples above a limit in ticks.
    pub(crate) fn count_above(&mut self, limit: u64) {
        self.above.limit = Some(limit);
    }

    /// Samples and scheduled activations above the limit.
    pub(crate) fn above(&self) -> u64 {
        self.above.count
    }

    /// The newest value in ticks; 0 for an early wake-up.
    pub(crate) fn newest(&self) -> Option<u64> {
        let last = self.last?;
        Some(match self.wake_ups {
            Some(_) => u64::try_from(last.lateness()).unwrap_or(0),
            None => last.value,
        })
    }

    /// The longest samples, at most `most`, as (time, value, cause) in ticks, in order of time.
    pub(crate) fn longest(&self, most: usize) -> Vec<(u64, u64, Cause)> {
        let mut longest: Vec<(u64, u64, Cause)> = self
            .longest
            .iter()
            .map(|Reverse((value, at, cause))| (*at, *value, *cause))
            .collect();
        if longest.len() > most {
            longest.sort_unstable_by_key(|&(at, value, _)| Reverse((value, at)));
            longest.truncate(most);
        }
        longest.sort_unstable();
        longest
    }
}

impl WakeUps {
    /// Adds a sample and returns how late it was: 0 for an early one.
    fn add(&mut self, sample: RingSample, before: Option<RingSample>) -> u64 {
        let signed = sample.lateness();
        let late = u64::try_from(signed).unwrap_or(0);
        if signed < 0 {
            self.early.add(signed.unsigned_abs());
        }
        if let WakeUpSchedule::Grid(grid) = self.rhythm {
            let skipped = grid.skipped(sample.at, late);
            self.schedule.add_falling(late, grid.interval, skipped + 1);
        }
        if let Some(before) = before {
            let since = match self.rhythm {
                // Two wake-ups that are equally late are as far apart as expected.
                WakeUpSchedule::Grid(_) => 0,
                WakeUpSchedule::After(interval) => {
                    sample.at.wrapping_sub(before.at).wrapping_sub(interval).cast_signed()
                }
            };
            let off = since.saturating_add(signed.saturating_sub(before.lateness()));
            self.jitter.add(off.unsigned_abs());
            if off > 0 {
                self.longer = self.longer.max(off.unsigned_abs());
            } else {
                self.shorter = self.shorter.max(off.unsigned_abs());
            }
        }
        late
    }

    /// Whether there are expected times that a wake-up can be late for.
    pub(crate) fn has_schedule(&self) -> bool {
        matches!(self.rhythm, WakeUpSchedule::Grid(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::TickPeriod;

    const ALL: SampleListing = SampleListing { from: 0, most: 3 };
    const NONE: SampleListing = SampleListing { from: 0, most: 0 };

    fn wake_ups(listed: SampleListing, rhythm: WakeUpSchedule) -> Accumulator {
        Accumulator::of_wake_ups(listed, rhythm).unwrap()
    }

    fn gaps(values: &[u64]) -> Accumulator {
        let mut accumulator = Accumulator::of_gaps(ALL).unwrap();
        for (at, &value) in (0..).zip(values) {
            accumulator.add(RingSample { at, value, missed: 0 });
        }
        accumulator
    }

    fn times(seen: &Accumulator, most: usize) -> Vec<(u64, u64)> {
        let longest = seen.longest(most).into_iter();
        longest.map(|(at, value, _)| (at, value)).collect()
    }

    #[test]
    fn the_longest_samples_are_listed_in_order_of_time() {
        let seen = gaps(&[5, 90, 7, 80, 6, 95, 1]);
        assert_eq!(times(&seen, 3), [(1, 90), (3, 80), (5, 95)]);
        assert_eq!(times(&seen, 2), [(1, 90), (5, 95)]);
        assert_eq!(gaps(&[u64::MAX]).raw.max(), Some(u64::MAX));
    }

    #[test]
    fn spikes_beyond_the_list_are_still_counted() {
        let mut seen = wake_ups(SampleListing { from: 100, most: 2 }, WakeUpSchedule::After(1));
        for (at, value) in [(1, 99), (2, 100), (3, 5_000), (4, 100), (5, 300)] {
            seen.add(RingSample { at, value, missed: 0 });
        }
        assert_eq!((seen.reached, times(&seen, 9)), (4, vec![(3, 5_000), (5, 300)]));
    }

    #[test]
    fn a_stall_of_half_a_second_is_500_late_activations_on_the_schedule() {
        let ms = 1_000_000;
        let mut seen = wake_ups(NONE, WakeUpSchedule::Grid(Grid::new(0, 1, 1)));
        seen.follow(Grid::new(0, 2_000, ms));
        seen.count_above(400 * ms + 7);
        // On time, then one that slept past 500 expected times, then on time again.
        for (due, late) in [(ms, 2_000), (2 * ms, 500 * ms + 7), (503 * ms, 2_000)] {
            seen.add(RingSample {
                at: due,
                value: late,
                missed: 0,
            });
        }
        let raw = seen.raw.distribution(TickPeriod::NANOSECONDS);
        assert_eq!(seen.above(), 100, "of those that were above 400 ms");
        assert_eq!((raw.count, raw.max_ns), (3, Some(500 * ms + 7)));
        let wake_ups = seen.wake_ups.as_ref().unwrap();
        let schedule = wake_ups.schedule.distribution(TickPeriod::NANOSECONDS);
        assert_eq!(
            (schedule.count, schedule.max_ns, schedule.min_ns),
            (503, Some(500 * ms + 7), Some(7))
        );
        let late = schedule.histogram.iter().filter(|(low, _)| *low >= 990_000);
        assert_eq!(late.map(|(_, count)| count).sum::<u64>(), 500);
        assert_eq!(raw.histogram.iter().map(|bucket| bucket.1).sum::<u64>(), 3);
        assert_eq!(
            (wake_ups.longer, wake_ups.shorter),
            (500 * ms + 7 - 2_000, 500 * ms + 7 - 2_000)
        );
    }

    #[test]
    fn early_wake_ups_are_counted_as_negative() {
        let mut seen = wake_ups(NONE, WakeUpSchedule::Grid(Grid::new(0, 9, 1_000)));
        for (at, late) in [(1_000, 40_i64), (2_000, -300), (3_000, 10)] {
            seen.add(RingSample {
                at,
                value: late.cast_unsigned(),
                missed: 0,
            });
        }
        let wake_ups = seen.wake_ups.as_ref().unwrap();
        assert_eq!((seen.raw.count(), seen.raw.min()), (3, Some(0)));
        assert_eq!((wake_ups.early.count(), wake_ups.early.max()), (1, Some(300)));
        assert_eq!((wake_ups.longer, wake_ups.shorter), (310, 340));
    }

    #[test]
    fn without_a_schedule_periods_run_from_wake_up_to_wake_up() {
        let mut seen = wake_ups(NONE, WakeUpSchedule::After(1_000));
        // Slept from 0, 1,040 and 2,050 on, each time for 1,000, and woke 30, 5 and 7 late.
        for (at, value) in [(1_000, 30), (2_040, 5), (3_050, 7)] {
            seen.add(RingSample { at, value, missed: 0 });
        }
        let wake_ups = seen.wake_ups.as_ref().unwrap();
        assert_eq!((wake_ups.jitter.count(), wake_ups.longer), (2, 15));
        assert!(!wake_ups.has_schedule() && wake_ups.schedule.count() == 0);
    }
}
