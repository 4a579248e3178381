//! Computes statistics of a series from its histogram. Every value is a range: the file does not state the position of a
//! sample in its bucket.

use crate::model::Series;
use serde::Serialize;

/// The computed quantiles, as shares.
pub const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// The range of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValueRange {
    /// The lower limit.
    pub low_ns: u64,
    /// The upper limit; `None` if the file does not state it.
    pub high_ns: Option<u64>,
}

/// The value that a share of the samples does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantile {
    /// 0 to 1.
    pub share: f64,
    /// `None` if there are too few samples: less than one would be above it.
    pub value: Option<ValueRange>,
}

/// The statistics from the buckets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// Samples in buckets.
    pub in_buckets: u64,
    /// Their arithmetic mean, with every sample at the lower end of its bucket.
    pub mean_ns: Option<f64>,
    /// How much larger the mean may be.
    pub mean_uncertainty_ns: Option<f64>,
    /// Their standard deviation.
    pub stddev_ns: Option<f64>,
    /// Most frequent bucket.
    pub mode: Option<ValueRange>,
    /// Of all samples, including those above the buckets.
    pub quantiles: Vec<Quantile>,
}

/// Computes the statistics of one series.
#[must_use]
pub fn statistics(series: &Series) -> Statistics {
    let in_buckets = series.in_buckets();
    let mode = series
        .buckets
        .iter()
        .rev()
        .max_by_key(|bucket| bucket.count)
        .map(|bucket| ValueRange {
            low_ns: bucket.low_ns,
            high_ns: Some(bucket.high_ns()),
        });
    Statistics {
        in_buckets,
        mean_ns: mean_ns(series),
        mean_uncertainty_ns: mean_of(series, |bucket| as_f64(bucket.width_ns - 1)),
        stddev_ns: stddev_ns(series),
        mode,
        quantiles: SHARES
            .iter()
            .map(|share| Quantile {
                share: *share,
                value: quantile(series, *share),
            })
            .collect(),
    }
}

/// The quantile of all samples, including those above the buckets; `None` if less than one would be above it, or if
/// the file does not state how many were above its buckets.
#[must_use]
pub fn quantile(series: &Series, share: f64) -> Option<ValueRange> {
    if series.buckets.is_empty() {
        return None;
    }
    let count = series.in_buckets().checked_add(series.overflow?)?;
    // Shares such as 0.99 are not exact in binary.
    if as_f64(count) * (1.0 - share) < 1.0 - 1e-6 && share > 0.5 {
        return None;
    }
    let rank = whole((as_f64(count) * share - 1e-6).ceil()).clamp(1, count);
    at_rank(series, rank)
}

/// The most precise quantile in the file: the stated one if the histogram is incomplete, or has buckets wider than
/// a hundredth of the value; else [`quantile`].
#[must_use]
pub fn best_quantile(series: &Series, share: f64) -> Option<ValueRange> {
    let found = quantile(series, share);
    let coarse = |span: ValueRange| {
        span.high_ns
            .is_none_or(|high_ns| high_ns.saturating_sub(span.low_ns) > span.low_ns / 100)
    };
    let mut stated = series.stated.quantiles.iter();
    let stated = stated.find(|(known, _)| (known - share).abs() < 1e-9);
    let incomplete = series.buckets.is_empty() || series.overflow.is_none();
    match stated {
        Some((_, value)) if found.map_or(incomplete, coarse) => {
            let (low_ns, high_ns) = series.meant(*value);
            Some(ValueRange {
                low_ns,
                high_ns: Some(high_ns),
            })
        }
        _ => found,
    }
}

/// The numbers of samples that are certainly, and possibly, at or above a limit: overflows without a position
/// are possible ones.
#[must_use]
pub fn not_below(series: &Series, limit_ns: u64) -> (u64, u64) {
    let (mut surely, mut possibly) = (0_u64, 0_u64);
    for bucket in &series.buckets {
        if bucket.low_ns >= limit_ns {
            surely = surely.saturating_add(bucket.count);
        }
        if bucket.high_ns() >= limit_ns {
            possibly = possibly.saturating_add(bucket.count);
        }
    }
    let overflow = series.overflow.unwrap_or(0);
    if floor_of_overflow(series) >= limit_ns {
        surely = surely.saturating_add(overflow);
    }
    (surely, possibly.saturating_add(overflow))
}

fn at_rank(series: &Series, rank: u64) -> Option<ValueRange> {
    let mut seen = 0_u64;
    for bucket in &series.buckets {
        seen = seen.saturating_add(bucket.count);
        if seen >= rank {
            let most = series
                .stated_max_ns()
                .map_or(u64::MAX, |(_, most)| most.max(bucket.low_ns));
            return Some(ValueRange {
                low_ns: bucket.low_ns,
                high_ns: Some(bucket.high_ns().min(most)),
            });
        }
    }
    let low_ns = floor_of_overflow(series);
    Some(ValueRange {
        low_ns,
        high_ns: series.stated_max_ns().map(|(_, most)| most.max(low_ns)),
    })
}

/// The lower limit of samples above the buckets, as far as it is stated.
fn floor_of_overflow(series: &Series) -> u64 {
    let above = |bucket: &crate::model::Bucket| bucket.low_ns.saturating_add(bucket.width_ns);
    series.buckets.last().map_or(0, above).max(series.overflow_from_ns)
}

/// Mean of the samples in buckets, each at the lower end of its bucket, like the tools' own computation.
#[must_use]
pub fn mean_ns(series: &Series) -> Option<f64> {
    mean_of(series, |bucket| as_f64(bucket.low_ns))
}

/// The stated mean, which includes the samples above the buckets; else [`mean_ns`].
#[must_use]
pub fn best_mean_ns(series: &Series) -> Option<f64> {
    series.stated.mean_ns.or_else(|| mean_ns(series))
}

fn mean_of(series: &Series, value: impl Fn(&crate::model::Bucket) -> f64) -> Option<f64> {
    let count = series.in_buckets();
    if count == 0 {
        return None;
    }
    let sum: f64 = series
        .buckets
        .iter()
        .map(|bucket| value(bucket) * (as_f64(bucket.count) / as_f64(count)))
        .sum();
    Some(sum)
}

/// Standard deviation of the samples in buckets.
#[must_use]
pub fn stddev_ns(series: &Series) -> Option<f64> {
    let mean = mean_ns(series)?;
    mean_of(series, |bucket| (as_f64(bucket.low_ns) - mean).powi(2)).map(f64::sqrt)
}

pub(crate) fn as_f64(value: u64) -> f64 {
    value as f64
}

/// The integer part; 0 for negative values and NaN.
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bucket, SeriesKind};
    use proptest::prelude::*;

    fn series(samples: &[u64], width_ns: u64) -> Series {
        let mut counts = std::collections::BTreeMap::new();
        for sample in samples {
            *counts.entry(sample / width_ns * width_ns).or_insert(0) += 1;
        }
        let mut series = Series::new(SeriesKind::Latency);
        series.buckets = counts
            .into_iter()
            .map(|(low_ns, count)| Bucket {
                low_ns,
                width_ns,
                count,
            })
            .collect();
        series.overflow = Some(0);
        series
    }

    proptest! {
        #[test]
        fn every_range_contains_the_true_value(
            mut samples in prop::collection::vec(0_u64..2_000_000, 1..400),
            width_ns in prop::sample::select(vec![1_u64, 10, 1_000, 5_000]),
        ) {
            let series = series(&samples, width_ns);
            samples.sort_unstable();
            let found = statistics(&series);
            for quantile in &found.quantiles {
                let enough = samples.len() as f64 * (1.0 - quantile.share) >= 0.999 || quantile.share <= 0.5;
                prop_assert_eq!(quantile.value.is_some(), enough, "{:?}", quantile);
                if let Some(span) = quantile.value {
                    let rank = (samples.len() as f64 * quantile.share - 1e-6).ceil().max(1.0) as usize;
                    let truth = samples[rank - 1];
                    prop_assert!(span.low_ns <= truth && truth <= span.high_ns.unwrap());
                    prop_assert!(span.high_ns.unwrap() - span.low_ns < width_ns);
                }
            }
            let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
            let low = found.mean_ns.unwrap();
            prop_assert!(low <= mean + 1e-6 && mean <= low + found.mean_uncertainty_ns.unwrap() + 1e-6);
            for limit in [0, 1_000, 700_000, 2_000_000] {
                let truth = samples.iter().filter(|sample| **sample >= limit).count() as u64;
                let (surely, possibly) = not_below(&series, limit);
                prop_assert!(surely <= truth && truth <= possibly);
            }
        }
    }

    #[test]
    fn overflows_count_in_quantiles_up_to_the_maximum() {
        let mut one = series(&[1_000; 90], 1_000);
        one.overflow = Some(10);
        let last = |series: &Series| quantile(series, 0.99);
        assert_eq!(
            last(&one),
            Some(ValueRange {
                low_ns: 2_000,
                high_ns: None
            })
        );
        one.stated.max_ns = Some(70_000);
        one.unit_ns = 1_000;
        assert_eq!(
            last(&one),
            Some(ValueRange {
                low_ns: 2_000,
                high_ns: Some(70_999)
            })
        );
        assert_eq!(quantile(&one, 0.5).map(|span| span.low_ns), Some(1_000));
        assert_eq!(quantile(&one, 0.999), None, "too few samples");
        assert_eq!(not_below(&one, 1_500), (10, 100));
        one.overflow = None;
        assert_eq!(quantile(&one, 0.5), None, "how many were above is unknown");
    }

    #[test]
    fn a_stated_quantile_replaces_only_a_wide_bucket() {
        let mut one = series(&[20_000; 300], 5_000);
        let exact = |low_ns| {
            Some(ValueRange {
                low_ns,
                high_ns: Some(low_ns),
            })
        };
        assert_eq!(best_quantile(&one, 0.5), quantile(&one, 0.5));
        one.stated.quantiles = vec![(0.5, 21_234), (0.999, 24_000)];
        assert_eq!(best_quantile(&one, 0.5), exact(21_234));
        assert_eq!(best_quantile(&one, 0.999), None, "too few samples");
        assert_eq!(best_quantile(&one, 0.99), quantile(&one, 0.99), "not stated");
        one.buckets.clear();
        assert_eq!(best_quantile(&one, 0.999), exact(24_000), "nothing but what is stated");
        let mut fine = series(&[20_000; 300], 100);
        fine.stated.quantiles = vec![(0.5, 20_050)];
        assert_eq!(best_quantile(&fine, 0.5), quantile(&fine, 0.5));
    }

    #[test]
    fn deviation_and_mode_are_computed() {
        let one = series(&[2, 4, 4, 4, 5, 5, 7, 9], 1);
        let found = statistics(&one);
        assert_eq!((found.mean_ns, found.stddev_ns), (Some(5.0), Some(2.0)));
        assert_eq!(found.mode.map(|span| span.low_ns), Some(4));
        assert_eq!(statistics(&Series::new(SeriesKind::Noise)).mean_ns, None);
    }
}
