//! Merges the exact buckets of a histogram into a few bins of equal width on a logarithmic scale, for text bars and for
//! drawings.

/// One bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HistogramBin {
    /// Lowest value in nanoseconds.
    pub low_ns: u64,
    /// First value above the bin.
    pub high_ns: u64,
    /// Number of samples.
    pub count: u64,
}

/// Merges buckets into `per_decade` bins per power of ten, without holes between the first and the last.
///
/// Bounds are rounded to whole nanoseconds, and equal ones merged, so every bucket is in exactly one bin and no count is
/// lost.
pub(crate) fn logarithmic(histogram: &[(u64, u64)], per_decade: u32) -> Vec<HistogramBin> {
    let values = || histogram.iter().filter(|(_, count)| *count > 0).map(|(low, _)| *low);
    let (Some(lowest), Some(highest)) = (values().min(), values().max()) else {
        return Vec::new();
    };
    let mut bins: Vec<HistogramBin> = Vec::new();
    let mut step = 0;
    let mut low = 0;
    while low <= highest {
        let high = bound(step, per_decade).max(low.saturating_add(1));
        if high > lowest || high == u64::MAX {
            bins.push(HistogramBin {
                low_ns: low,
                high_ns: high,
                count: 0,
            });
        }
        if high == u64::MAX {
            break;
        }
        low = high;
        step += 1;
    }
    for (value, count) in histogram {
        let place = bins
            .partition_point(|bin| bin.high_ns <= *value)
            .min(bins.len().saturating_sub(1));
        if let Some(bin) = bins.get_mut(place) {
            bin.count = bin.count.saturating_add(*count);
        }
    }
    bins
}

/// Upper bound of a step: 10^(step / per_decade), from 1 ns.
fn bound(step: u32, per_decade: u32) -> u64 {
    10_f64.powf(f64::from(step) / f64::from(per_decade)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_contain_every_sample_in_order() {
        let histogram: Vec<(u64, u64)> = (0..2000).map(|place| (place * place + 1, place % 7)).collect();
        for per_decade in [1, 3, 5, 20, 60] {
            let bins = logarithmic(&histogram, per_decade);
            let total: u64 = histogram.iter().map(|(_, count)| count).sum();
            assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), total);
            assert!(bins.windows(2).all(|pair| pair[0].high_ns == pair[1].low_ns));
            assert!(bins.iter().all(|bin| bin.low_ns < bin.high_ns));
        }
    }

    #[test]
    fn an_empty_histogram_has_no_bins_and_extremes_fit() {
        assert!(logarithmic(&[], 5).is_empty());
        assert!(logarithmic(&[(5, 0)], 5).is_empty());
        assert_eq!(logarithmic(&[(0, 3)], 5).iter().map(|bin| bin.count).sum::<u64>(), 3);
        assert_eq!(
            logarithmic(&[(u64::MAX, 3)], 5)
                .iter()
                .map(|bin| bin.count)
                .sum::<u64>(),
            3
        );
    }
}
