//! Computes the statistics of a stream of values: a histogram, exact extremes, exact mean and variance.

use crate::counter::TickPeriod;
use crate::result::Distribution;
use hdrhistogram::Histogram;

/// One hour in ticks of 9 GHz: longer samples share a bucket.
const HIGHEST: u64 = 1 << 45;

/// Statistics of values in ticks.
pub(crate) struct TickStatistics {
    histogram: Histogram<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    mean: f64,
    squares: f64,
}

impl TickStatistics {
    /// An empty tally; `None` if the buckets cannot be allocated.
    pub(crate) fn new() -> Option<TickStatistics> {
        Some(TickStatistics {
            histogram: Histogram::new_with_bounds(1, HIGHEST, 3).ok()?,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            mean: 0.0,
            squares: 0.0,
        })
    }

    /// Adds one value.
    pub(crate) fn add(&mut self, value: u64) {
        self.add_falling(value, 0, 1);
    }

    /// Adds `count` values, the first of them `first` and each `step` below the previous one. Its run time depends on the number of
    /// buckets, not of values: a stall of an hour is millions of late activations.
    pub(crate) fn add_falling(&mut self, first: u64, step: u64, count: u64) {
        let Some(last) = count
            .checked_sub(1)
            .map(|steps| first.saturating_sub(step.saturating_mul(steps)))
        else {
            return;
        };
        let mut rest = (first, count);
        while rest.1 > 0 {
            let value = rest.0.min(HIGHEST);
            let low = match rest.0 > HIGHEST {
                true => HIGHEST,
                false => self.histogram.lowest_equivalent(value),
            };
            let here = match step {
                0 => rest.1,
                step => ((rest.0 - low) / step + 1).min(rest.1),
            };
            let _ = self.histogram.record_n(value, here);
            rest = (rest.0.saturating_sub(step.saturating_mul(here)), rest.1 - here);
        }
        self.sum += (u128::from(first) + u128::from(last)) * u128::from(count) / 2;
        self.min = self.min.min(last);
        self.max = self.max.max(first);
        // Chan's form of Welford's sums: no cancellation, regardless of the length of the run.
        let (n, own) = (count as f64, self.count as f64);
        let mean = (first as f64 + last as f64) / 2.0;
        let spread = (step as f64).powi(2) * n * (n * n - 1.0) / 12.0;
        self.count += count;
        let off = mean - self.mean;
        self.mean += off * n / self.count as f64;
        self.squares += spread + off * off * own * n / self.count as f64;
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values in ticks.
    pub(crate) fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// Smallest value in ticks; `None` without values.
    pub(crate) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value in ticks; `None` without values.
    pub(crate) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Mean in nanoseconds.
    pub(crate) fn mean_ns(&self, tick_period: TickPeriod) -> Option<f64> {
        (self.count > 0).then(|| self.mean * tick_period.factor())
    }

    /// Standard deviation in nanoseconds.
    pub(crate) fn stddev_ns(&self, tick_period: TickPeriod) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt() * tick_period.factor())
    }

    /// The value that `share` of the values do not exceed, in nanoseconds; at most the exact maximum.
    pub(crate) fn quantile_ns(&self, share: f64, tick_period: TickPeriod) -> Option<u64> {
        let ticks = self.histogram.value_at_quantile(share).clamp(self.min()?, self.max()?);
        Some(tick_period.to_ns(ticks))
    }

    /// As [`TickStatistics::quantile_ns`], if at least one value lies beyond it: otherwise it would equal the maximum.
    fn tail_ns(&self, share: f64, tick_period: TickPeriod) -> Option<u64> {
        // 1e-9: 100,000 values are enough for 99.999 %, despite rounding of the product.
        let beyond = self.count as f64 * (1.0 - share) + 1e-9;
        self.quantile_ns(share, tick_period).filter(|_| beyond >= 1.0)
    }

    /// The lowest of the fullest buckets, in nanoseconds: its lower bound, but at least the exact minimum.
    pub(crate) fn mode_ns(&self, tick_period: TickPeriod) -> Option<u64> {
        let fullest = self
            .histogram
            .iter_recorded()
            .map(|bucket| (bucket.count_at_value(), bucket.value_iterated_to()))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let low = self.histogram.lowest_equivalent(fullest.1);
        Some(tick_period.to_ns(low.clamp(self.min()?, self.max()?)))
    }

    /// Lower bounds in nanoseconds and counts, without empty buckets.
    pub(crate) fn buckets(&self, tick_period: TickPeriod) -> Vec<(u64, u64)> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            let low = tick_period.to_ns(self.histogram.lowest_equivalent(bucket.value_iterated_to()));
            let count = bucket.count_at_value();
            match buckets.last_mut() {
                // Ticks can be finer than nanoseconds.
                Some(last) if last.0 == low => last.1 += count,
                _ => buckets.push((low, count)),
            }
        }
        buckets
    }

    /// All statistics, for a result.
    pub(crate) fn distribution(&self, tick_period: TickPeriod) -> Distribution {
        Distribution {
            count: self.count,
            min_ns: self.min().map(|ticks| tick_period.to_ns(ticks)),
            mean_ns: self.mean_ns(tick_period),
            stddev_ns: self.stddev_ns(tick_period),
            mode_ns: self.mode_ns(tick_period),
            p50_ns: self.quantile_ns(0.5, tick_period),
            p90_ns: self.quantile_ns(0.9, tick_period),
            p99_ns: self.quantile_ns(0.99, tick_period),
            p999_ns: self.quantile_ns(0.999, tick_period),
            p9999_ns: self.tail_ns(0.9999, tick_period),
            p99999_ns: self.tail_ns(0.99999, tick_period),
            max_ns: self.max().map(|ticks| tick_period.to_ns(ticks)),
            histogram: self.buckets(tick_period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> TickStatistics {
        let mut tally = TickStatistics::new().unwrap();
        values.iter().for_each(|&value| tally.add(value));
        tally
    }

    #[test]
    fn statistics_of_no_values_are_unknown() {
        let empty = of(&[]).distribution(TickPeriod::NANOSECONDS);
        assert_eq!(
            empty,
            Distribution {
                count: 0,
                ..Distribution::default()
            }
        );
    }

    #[test]
    fn percentiles_agree_with_a_sorted_list() {
        let mut values: Vec<u64> = (0..100_000).map(|n: u64| n * n % 99_991 + 3).collect();
        let tally = of(&values);
        values.sort_unstable();
        let tick_period = TickPeriod::NANOSECONDS;
        let result = tally.distribution(tick_period);
        for (ours, place) in [
            (result.p50_ns, 49_999),
            (result.p90_ns, 89_999),
            (result.p99_ns, 98_999),
            (result.p999_ns, 99_899),
            (result.p9999_ns, 99_989),
            (result.p99999_ns, 99_998),
            (result.max_ns, 99_999),
        ] {
            let (true_value, ours) = (values[place], ours.unwrap());
            assert!(
                ours.abs_diff(true_value) * 1_000 <= true_value,
                "{place}: {ours} for {true_value}"
            );
        }
        assert_eq!(
            (result.min_ns, result.max_ns),
            (values.first().copied(), values.last().copied())
        );
        assert_eq!(result.histogram.iter().map(|bucket| bucket.1).sum::<u64>(), 100_000);
        assert!(result.histogram.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let mean = values.iter().sum::<u64>() as f64 / 1e5;
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((result.mean_ns.unwrap() - mean).abs() < 1e-6 * mean);
        assert!((result.stddev_ns.unwrap() - variance.sqrt()).abs() < 1e-6 * mean);
    }

    #[test]
    fn a_percentile_beyond_all_values_is_unknown() {
        let few = of(&(0..9_999).collect::<Vec<_>>()).distribution(TickPeriod::NANOSECONDS);
        assert_eq!((few.p9999_ns, few.p99999_ns), (None, None));
        let enough = of(&(0..10_000).collect::<Vec<_>>()).distribution(TickPeriod::NANOSECONDS);
        assert!(enough.p9999_ns.is_some() && enough.p99999_ns.is_none());
    }

    #[test]
    fn the_mode_is_the_most_frequent_value() {
        let mode = |values: &[u64]| of(values).mode_ns(TickPeriod::NANOSECONDS);
        assert_eq!(mode(&[7, 3, 9, 3, 9, 9, 500]), Some(9));
        assert_eq!(mode(&[3, 9, 9, 3]), Some(3), "the lowest of equals");
        assert!(mode(&[u64::MAX]).is_some());
        assert_eq!(mode(&[]), None);
    }

    #[test]
    fn a_falling_series_equals_its_values_added_one_by_one() {
        for (first, step, count) in [
            (501_234_567, 1_000_000, 501),
            (5, 1, 6),
            (70_000, 7, 10_000),
            (9, 0, 4),
            (3, 1, 0),
            (u64::MAX / 4, 1 << 40, 5),
        ] {
            let mut series = of(&[12, 77]);
            series.add_falling(first, step, count);
            let mut values = of(&[12, 77]);
            (0..count).for_each(|place| values.add(first - place * step));
            let (mut ours, mut theirs) = (
                series.distribution(TickPeriod::NANOSECONDS),
                values.distribution(TickPeriod::NANOSECONDS),
            );
            for (ours, theirs) in [
                (ours.mean_ns.take(), theirs.mean_ns.take()),
                (ours.stddev_ns.take(), theirs.stddev_ns.take()),
            ] {
                let (ours, theirs): (f64, f64) = (ours.unwrap(), theirs.unwrap());
                assert!((ours - theirs).abs() <= theirs.abs() * 1e-9, "{ours} {theirs}");
            }
            assert_eq!(ours, theirs, "{first} {step} {count}");
            assert_eq!(series.sum(), values.sum());
        }
    }
}
