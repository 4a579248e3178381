//! Computes the numbers of a watch: stolen time, gaps by size, quantiles, and delays of periodic wake-ups.

use crate::blocks::{BlockSums, NONE_SEEN, SIZES_NS, WatchSums, ranges, totals};
use machine::OrderBy;
use serde::{Deserialize, Serialize};

/// The percentages of gaps for which a length is given.
const QUANTILES: [usize; 3] = [50, 90, 99];
/// The shares of wake-ups for which a delay is given.
const DELAYS: [f64; 3] = [0.99, 0.999, 0.9999];

/// A number with its 90 % range for another watch of the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Quantiles of 95 % of Student's t distribution, for 1 to 9 degrees of freedom. More have smaller ones.
const STUDENT: [f64; 9] = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833];
impl Estimate {
    /// Several watches of the same load: their mean, and the 90 % range of one more watch; `None` without a watch. The range is
    /// the mean of theirs, or the prediction interval of their variation (Student's t) where that is wider: a single watch does
    /// not show what changes from one watch to the next.
    #[must_use]
    pub fn of_watches(estimates: &[Estimate]) -> Option<Estimate> {
        if estimates.is_empty() {
            return None;
        }
        let count = estimates.len() as f64;
        let mean = |number: &dyn Fn(&Estimate) -> f64| estimates.iter().map(number).sum::<f64>() / count;
        let value = mean(&|estimate| estimate.value);
        let squares: f64 = estimates.iter().map(|estimate| (estimate.value - value).powi(2)).sum();
        let half_width = match estimates.len().checked_sub(2) {
            None => 0.0,
            Some(place) => {
                let quantile = STUDENT[place.min(STUDENT.len() - 1)];
                quantile * (squares / (count - 1.0) * (1.0 + 1.0 / count)).sqrt()
            }
        };
        Some(Estimate {
            value,
            low: mean(&|estimate| estimate.low).min(value - half_width).max(0.0),
            high: mean(&|estimate| estimate.high).max(value + half_width),
        })
    }
}

/// How often gaps of a size occur.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeRate {
    /// The lower limit of the size, in nanoseconds; 0 for every gap.
    pub from_ns: u64,
    /// Gaps per second and CPU.
    pub per_s: Estimate,
}

/// A quantile of the lengths of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapQuantile {
    /// The share of gaps that are not longer.
    pub share: f64,
    /// The length, in nanoseconds.
    pub ns: u64,
}

/// How much later periodic wake-ups are because of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeUpDelay {
    /// The share of wake-ups that are not delayed longer.
    pub share: f64,
    /// The delay, in nanoseconds, in addition to the latency without gaps.
    pub ns: u64,
}

/// The gaps of a watch in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Stolen time, in nanoseconds per second and CPU.
    pub stolen_ns_per_s: Estimate,
    /// Gaps by size.
    pub gap_rates: Vec<SizeRate>,
    /// The longest gap that was seen, in nanoseconds; another watch may see a longer one.
    pub longest_ns: u64,
    /// Quantiles of the lengths. Those that need more gaps than were seen are absent.
    pub quantiles: Vec<GapQuantile>,
    /// Delays of a periodic wake-up at any time of the watch.
    pub delays: Vec<WakeUpDelay>,
}

impl Outcome {
    /// How often gaps from this size on occur, per second and CPU; `None` for a size that is not counted.
    #[must_use]
    pub fn rate(&self, from_ns: u64) -> Option<Estimate> {
        let found = self.gap_rates.iter().find(|rate| rate.from_ns == from_ns);
        found.map(|rate| rate.per_s)
    }
}

/// What all outcomes of a watch share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchScale {
    /// The time of all CPUs together, in nanoseconds.
    pub(crate) watched_ns: u64,
    /// The longest gap of the watch, before any change.
    pub(crate) longest_ns: u64,
    /// The part of each sum, before any change, that is due to the trace.
    pub(crate) trace: BlockSums,
}

impl WatchScale {
    /// A sum, per second.
    pub(crate) fn per_s(self, sum: f64) -> f64 {
        sum * 1e9 / self.watched_ns.max(1) as f64
    }

    /// The estimate of a sum, per second.
    pub(crate) fn estimate(self, total: f64, (low, high): (f64, f64)) -> Estimate {
        Estimate {
            value: self.per_s(total),
            low: self.per_s(low.min(total)),
            high: self.per_s(high.max(total)),
        }
    }
}

/// The outcome of a watch with these sums. `upper` has what remains if uncertain causes are not removed.
pub(crate) fn outcome(sums: &WatchSums, upper: Option<&WatchSums>, scale: WatchScale) -> Outcome {
    let total = totals(&sums.blocks);
    let low = ranges(&sums.blocks);
    let highest = upper.unwrap_or(sums);
    let high = upper.map_or(low, |upper| ranges(&upper.blocks));
    let more = unseen(&totals(&highest.blocks), scale);
    let least = match sums.least == sums.blocks {
        true => low,
        false => ranges(&sums.least),
    };
    // Which of the gaps that a change leaves are due to the trace is not known, so all may be.
    let mut lows: BlockSums = std::array::from_fn(|at| (low[at].0.min(least[at].0) - scale.trace[at]).max(0.0));
    // Gaps from a larger size on are among those from a smaller one on.
    for at in (1..SIZES_NS.len()).rev() {
        lows[at] = lows[at].max(lows[at + 1]);
    }
    let range = |at: usize| (lows[at], high[at].1.max(low[at].1).max(more[at]));
    let mut lengths = sums.lengths.clone();
    lengths.order_by_key(|(length_ns, _)| *length_ns);
    Outcome {
        stolen_ns_per_s: scale.estimate(total[0], range(0)),
        gap_rates: SIZES_NS
            .iter()
            .enumerate()
            .map(|(at, size_ns)| SizeRate {
                from_ns: *size_ns,
                per_s: scale.estimate(total[at + 1], range(at + 1)),
            })
            .collect(),
        longest_ns: lengths.last().map_or(0, |(length_ns, _)| *length_ns),
        quantiles: quantiles(&lengths),
        delays: delays(&lengths, scale.watched_ns),
    }
}

/// Upper bounds where few gaps or none were seen: three more than seen. Those of a size that was not seen are at least as long
/// as that, and as the longest of the watch if no gap remains.
fn unseen(total: &BlockSums, scale: WatchScale) -> BlockSums {
    let mut bounds = total.map(|count| count + NONE_SEEN);
    let sizes = total[1..].iter().zip(SIZES_NS);
    let unseen_ns = sizes.filter(|(count, _)| **count == 0.0).map(|(_, size_ns)| size_ns);
    let longest_ns = if total[1] == 0.0 { scale.longest_ns } else { 0 };
    bounds[0] = total[0] + NONE_SEEN * unseen_ns.fold(longest_ns, u64::max) as f64;
    bounds
}

fn quantiles(lengths: &[(u64, f64)]) -> Vec<GapQuantile> {
    let all: f64 = lengths.iter().map(|(_, weight)| weight).sum();
    QUANTILES
        .iter()
        .filter(|percent| lengths.len() * (100 - **percent) >= 100)
        .filter_map(|percent| {
            let mut left = all * *percent as f64 / 100.0;
            let (ns, _) = *lengths.iter().find(|(_, weight)| {
                left -= weight;
                left < 0.0
            })?;
            Some(GapQuantile {
                share: *percent as f64 / 100.0,
                ns,
            })
        })
        .collect()
}

/// A wake-up within a gap waits for its end. So wake-ups from the first `length - d` of a gap are delayed by more than `d`:
/// this finds the `d` that only the given share of the time exceeds. It equals a replay at every phase.
fn delays(lengths: &[(u64, f64)], watched_ns: u64) -> Vec<WakeUpDelay> {
    let delay = |share: f64| {
        let budget_ns = watched_ns as f64 * (1.0 - share);
        let (mut sum_ns, mut count) = (0.0, 0.0);
        for (at, (length_ns, weight)) in lengths.iter().enumerate().rev() {
            sum_ns += *length_ns as f64 * weight;
            count += weight;
            let next_ns = at
                .checked_sub(1)
                .and_then(|at| lengths.get(at))
                .map_or(0, |(length_ns, _)| *length_ns);
            // All gaps so far are longer than `next_ns`; the time in them beyond d is sum - count * d.
            if sum_ns - count * next_ns as f64 >= budget_ns {
                return ((sum_ns - budget_ns) / count).max(0.0) as u64;
            }
        }
        0
    };
    DELAYS
        .iter()
        .map(|share| WakeUpDelay {
            share: *share,
            ns: delay(*share),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_equal_a_replay_of_wake_ups_at_every_phase() {
        // Gaps of 1 to 300 us, 20 in a watch of 100 ms.
        let lengths_ns: Vec<u64> = (0..20).map(|at| 1_000 + at * at * 800).collect();
        let watched_ns = 100_000_000;
        let mut replayed: Vec<u64> = vec![0; watched_ns as usize / 100];
        let mut at = 0;
        for length_ns in &lengths_ns {
            at += 10_000;
            for step in 0..length_ns / 100 {
                replayed[at + step as usize] = length_ns - step * 100;
            }
            at += (*length_ns / 100) as usize;
        }
        replayed.sort_unstable();
        let lengths: Vec<(u64, f64)> = lengths_ns.iter().map(|length_ns| (*length_ns, 1.0)).collect();
        for found in delays(&lengths, watched_ns) {
            let expected = replayed[(replayed.len() as f64 * found.share) as usize];
            assert!(found.ns.abs_diff(expected) <= 200, "{found:?}: {expected}");
        }
        assert!(
            delays(&lengths, watched_ns)[2].ns > 100_000,
            "the case reaches the longest gaps"
        );
    }

    #[test]
    fn watches_that_differ_more_than_their_ranges_widen_them() {
        let watch = |value: f64| Estimate {
            value,
            low: value - 1.0,
            high: value + 2.0,
        };
        let of = |watches: &[Estimate]| Estimate::of_watches(watches).unwrap();
        assert_eq!(Estimate::of_watches(&[]), None);
        assert_eq!(of(&[watch(10.0)]), watch(10.0));
        assert_eq!(of(&[watch(10.0); 3]), watch(10.0));
        // Standard deviation 2: 2.920 * 2 * sqrt(4 / 3) = 6.743.
        let different = of(&[watch(8.0), watch(10.0), watch(12.0)]);
        assert!((different.high - 16.743).abs() < 0.001 && (different.low - 3.257).abs() < 0.001);
        assert_eq!(different.value, 10.0);
        assert_eq!(of(&[watch(1.0), watch(9.0)]).low, 0.0, "no time is negative");
    }

    #[test]
    fn quantiles_that_need_more_gaps_are_absent() {
        let shares = |count: u64| quantiles(&(0..count).map(|ns| (ns, 1.0)).collect::<Vec<_>>()).len();
        assert_eq!([shares(0), shares(2), shares(10), shares(100)], [0, 1, 2, 3]);
    }

    #[test]
    fn lower_ends_are_without_the_trace() {
        let mut sums = WatchSums::new();
        sums.blocks = vec![[20_000.0, 2.0, 1.0, 1.0, 0.0]; 40];
        sums.least.clone_from(&sums.blocks);
        let lows = |trace| {
            let scale = WatchScale {
                watched_ns: 1_000_000_000,
                longest_ns: 15_000,
                trace,
            };
            let outcome = outcome(&sums, None, scale);
            let rates = outcome.gap_rates.iter().map(|rate| rate.per_s.low);
            (outcome.stolen_ns_per_s.low, rates.collect::<Vec<_>>())
        };
        assert_eq!(lows(BlockSums::default()), (800_000.0, vec![80.0, 40.0, 40.0, 0.0]));
        let trace = [90_000.0, 50.0, 10.0, 0.0, 0.0];
        let of_larger = "a size includes the larger ones";
        assert_eq!(lows(trace), (710_000.0, vec![40.0, 40.0, 40.0, 0.0]), "{of_larger}");
        assert_eq!(lows([1e9, 100.0, 10.0, 15.0, 0.0]), (0.0, vec![30.0, 30.0, 25.0, 0.0]));
    }

    #[test]
    fn none_seen_is_bounded_by_three() {
        let scale = WatchScale {
            watched_ns: 10_000_000_000,
            longest_ns: 50_000,
            trace: BlockSums::default(),
        };
        let empty = outcome(&WatchSums::new(), None, scale);
        assert_eq!(
            empty.gap_rates[0].per_s,
            Estimate {
                value: 0.0,
                low: 0.0,
                high: 0.3
            }
        );
        assert_eq!(empty.stolen_ns_per_s.high, 300_000.0, "three of 1 ms in ten seconds");
    }
}
