//! What is kept of a stream of samples: a histogram, exact extremes and sums, and the longest gaps.

use crate::counter::Pace;
use crate::ring::Sample;
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One hour in ticks of 9 GHz: no longer sample is told apart.
const HIGHEST: u64 = 1 << 45;

/// The samples of one lane, in its own ticks.
pub(crate) struct Accumulator {
    histogram: Histogram<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    mean: f64,
    squares: f64,
    longest: BinaryHeap<Reverse<(u64, u64)>>,
    keep: usize,
    last: Option<Sample>,
}

impl Accumulator {
    /// Keeps the `keep` longest samples with their times.
    pub(crate) fn new(keep: usize) -> Option<Accumulator> {
        Some(Accumulator {
            histogram: Histogram::new_with_bounds(1, HIGHEST, 3).ok()?,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squares: 0.0,
            longest: BinaryHeap::new(),
            keep,
            last: None,
        })
    }

    /// Takes one sample.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn add(&mut self, sample: Sample) {
        let value = sample.value;
        self.histogram.saturating_record(value.min(HIGHEST));
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // Welford: no cancellation, however long the run.
        let off = value as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value as f64 - self.mean);
        if self.longest.len() < self.keep {
            self.longest.push(Reverse((value, sample.at)));
        } else if self
            .longest
            .peek()
            .is_some_and(|Reverse((shortest, _))| *shortest < value)
        {
            self.longest.pop();
            self.longest.push(Reverse((value, sample.at)));
        }
        self.last = Some(sample);
    }

    /// Samples so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the samples in ticks.
    pub(crate) fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// The newest sample.
    pub(crate) fn last(&self) -> Option<Sample> {
        self.last
    }

    /// Smallest sample in ticks; `None` without samples.
    pub(crate) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest sample in ticks; `None` without samples.
    pub(crate) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Mean in nanoseconds.
    pub(crate) fn mean_ns(&self, pace: Pace) -> Option<f64> {
        (self.count > 0).then(|| self.mean * pace.factor())
    }

    /// Standard deviation in nanoseconds.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn stddev_ns(&self, pace: Pace) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt() * pace.factor())
    }

    /// The value that `share` of the samples do not exceed, in nanoseconds; never above the exact maximum.
    pub(crate) fn quantile_ns(&self, share: f64, pace: Pace) -> Option<u64> {
        let ticks = self
            .histogram
            .value_at_quantile(share)
            .clamp(self.min()?, self.max()?);
        Some(pace.to_ns(ticks))
    }

    /// Lower bounds in nanoseconds and counts, without empty buckets.
    pub(crate) fn buckets(&self, pace: Pace) -> Vec<(u64, u64)> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            let low = pace.to_ns(self.histogram.lowest_equivalent(bucket.value_iterated_to()));
            let count = bucket.count_at_value();
            match buckets.last_mut() {
                // Ticks can be finer than nanoseconds.
                Some(last) if last.0 == low => last.1 += count,
                _ => buckets.push((low, count)),
            }
        }
        buckets
    }

    /// The longest samples, at most so many, as (time, value) in ticks, in order of time.
    pub(crate) fn longest(&self, most: usize) -> Vec<(u64, u64)> {
        let mut longest: Vec<(u64, u64)> = self
            .longest
            .iter()
            .map(|Reverse((value, at))| (*at, *value))
            .collect();
        if longest.len() > most {
            longest.sort_unstable_by_key(|&(at, value)| Reverse((value, at)));
            longest.truncate(most);
        }
        longest.sort_unstable();
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Accumulator {
        let mut accumulator = Accumulator::new(3).unwrap();
        for (at, &value) in (0..).zip(values) {
            accumulator.add(Sample { at, value, missed: 0 });
        }
        accumulator
    }

    #[test]
    fn nothing_is_unknown_and_not_zero() {
        let empty = of(&[]);
        let pace = Pace::NANOSECONDS;
        assert_eq!(
            (empty.min(), empty.max(), empty.mean_ns(pace)),
            (None, None, None)
        );
        assert_eq!(
            (empty.stddev_ns(pace), empty.quantile_ns(0.5, pace)),
            (None, None)
        );
        assert!(empty.buckets(pace).is_empty());
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut values: Vec<u64> = (0..10_000).map(|n: u64| n * n % 99_991 + 3).collect();
        let accumulator = of(&values);
        values.sort_unstable();
        let pace = Pace::NANOSECONDS;
        for (share, place) in [(0.5, 4_999), (0.99, 9_899), (0.999, 9_989), (1.0, 9_999)] {
            let (true_value, ours) = (values[place], accumulator.quantile_ns(share, pace).unwrap());
            assert!(
                ours.abs_diff(true_value) * 1_000 <= true_value,
                "{share}: {ours} for {true_value}"
            );
        }
        assert_eq!(accumulator.max(), values.last().copied());
        assert_eq!(
            accumulator
                .buckets(pace)
                .iter()
                .map(|bucket| bucket.1)
                .sum::<u64>(),
            10_000
        );
        assert!(
            accumulator
                .buckets(pace)
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0)
        );
        let mean = values.iter().sum::<u64>() as f64 / 1e4;
        let variance = values
            .iter()
            .map(|&value| (value as f64 - mean).powi(2))
            .sum::<f64>()
            / 1e4;
        assert!((accumulator.mean_ns(pace).unwrap() - mean).abs() < 1e-6 * mean);
        assert!((accumulator.stddev_ns(pace).unwrap() - variance.sqrt()).abs() < 1e-6 * mean);
    }

    #[test]
    fn keeps_the_longest_in_order_of_time() {
        assert_eq!(
            of(&[5, 90, 7, 80, 6, 95, 1]).longest(3),
            [(1, 90), (3, 80), (5, 95)]
        );
        assert_eq!(of(&[5, 90, 7, 80, 6, 95, 1]).longest(2), [(1, 90), (5, 95)]);
        assert_eq!(of(&[u64::MAX]).max(), Some(u64::MAX));
    }
}
