//! Sums gaps in blocks of time, and draws ranges from them.
//!
//! Gaps depend on those near them, so a gap is not an independent sample. A block of a fortieth of the watch is almost one.

use crate::removal::RemainingGap;
use compare::ResamplingRng;
use machine::OrderBy;

/// The lower limits of the sizes by which gaps are counted, in nanoseconds. The first one counts every gap.
pub(crate) const SIZES_NS: [u64; 4] = [0, 10_000, 100_000, 1_000_000];

/// The number of blocks of a watch.
pub(crate) const BLOCKS: usize = 40;

/// The number of resampled watches.
const WATCHES: usize = 400;

/// The upper 95 % bound of the number of events of which none was seen (rule of three: -ln 0.05).
pub(crate) const NONE_SEEN: f64 = 3.0;

/// The sums of one block: stolen nanoseconds, then the number of gaps from each size on.
pub(crate) type BlockSums = [f64; 1 + SIZES_NS.len()];

/// The sums of a watch, and the lengths of its gaps.
#[derive(Clone, Debug)]
pub(crate) struct WatchSums {
    pub(crate) blocks: Vec<BlockSums>,
    /// The same without what was added to gaps.
    pub(crate) least: Vec<BlockSums>,
    /// The length of each gap, with its weight.
    pub(crate) lengths: Vec<(u64, f64)>,
}

/// The time of a watch of one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchTime {
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    /// How much more of the time shows gaps without a known cause than in the watch: what a hypervisor takes while another
    /// program has the CPU is not seen.
    pub(crate) exposure: f64,
}

impl WatchSums {
    pub(crate) fn new() -> WatchSums {
        WatchSums {
            blocks: vec![BlockSums::default(); BLOCKS],
            least: vec![BlockSums::default(); BLOCKS],
            lengths: Vec::new(),
        }
    }

    /// Adds a gap. Gaps below the threshold count as stolen time only, because the watch reports none of them.
    pub(crate) fn add(&mut self, gap: RemainingGap, time: WatchTime, threshold_ns: u64) {
        let offset = u128::from(gap.start_ns.saturating_sub(time.start_ns)) * BLOCKS as u128;
        let at = usize::try_from(offset / u128::from(time.duration_ns.max(1))).unwrap_or(BLOCKS);
        let at = at.min(BLOCKS - 1);
        let weight = if gap.is_unexplained { time.exposure } else { 1.0 };
        let least_ns = gap.length_ns.saturating_sub(gap.way_ns);
        for (blocks, length_ns) in [(&mut self.blocks, gap.length_ns), (&mut self.least, least_ns)] {
            let Some(block) = blocks.get_mut(at) else { return };
            block[0] += length_ns as f64 * weight;
            if length_ns >= threshold_ns {
                for (sum, size_ns) in block[1..].iter_mut().zip(SIZES_NS) {
                    *sum += if length_ns >= size_ns { weight } else { 0.0 };
                }
            }
        }
        if gap.length_ns >= threshold_ns {
            self.lengths.push((gap.length_ns, weight));
        }
    }

    /// Per block, how much less this is than `all`.
    pub(crate) fn less_than(&self, all: &WatchSums) -> Vec<BlockSums> {
        let pairs = all.blocks.iter().zip(&self.blocks);
        pairs
            .map(|(all, own)| std::array::from_fn(|at| all[at] - own[at]))
            .collect()
    }
}

/// The sums of all blocks.
pub(crate) fn totals(blocks: &[BlockSums]) -> BlockSums {
    let mut totals = BlockSums::default();
    for block in blocks {
        for (total, sum) in totals.iter_mut().zip(block) {
            *total += sum;
        }
    }
    totals
}

/// The 90 % range of each total in another watch of the same length. Both the watch that was made and the one to come vary,
/// so the range is that of the total times the square root of 2. With few blocks that are not empty, the drawn watches vary
/// less than real ones do; [`few_blocks`] makes up for that.
pub(crate) fn ranges(blocks: &[BlockSums]) -> [(f64, f64); 1 + SIZES_NS.len()] {
    let mut random = ResamplingRng::default();
    let drawn: Vec<BlockSums> = (0..WATCHES)
        .map(|_| {
            let places = random.draw(blocks.len());
            let chosen: Vec<BlockSums> = places.iter().filter_map(|place| blocks.get(*place).copied()).collect();
            totals(&chosen)
        })
        .collect();
    let totals = totals(blocks);
    std::array::from_fn(|at| {
        let mut values: Vec<f64> = drawn.iter().map(|sums| sums[at]).collect();
        values.order_by(f64::total_cmp);
        let quantile = |share: usize| values.get(WATCHES * share / 100).copied().unwrap_or(totals[at]);
        let wider = |edge: f64| totals[at] + (edge - totals[at]) * std::f64::consts::SQRT_2 * few_blocks(blocks, at);
        (wider(quantile(5)).max(0.0), wider(quantile(95)))
    })
}

/// The factor for a sum to which only some blocks contribute. Found by the simulation of `tests/suite/coverage.rs`.
fn few_blocks(blocks: &[BlockSums], at: usize) -> f64 {
    let filled = blocks.iter().filter(|block| block[at] > 0.0).count();
    1.0 + 2.0 / filled.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_at_least_as_long_as_without_what_was_added() {
        let time = WatchTime {
            start_ns: 0,
            duration_ns: 40_000_000,
            exposure: 1.0,
        };
        let mut sums = WatchSums::new();
        for (length_ns, way_ns) in [(12_000, 0), (12_000, 3_000), (1_500, 600), (500, 0)] {
            let gap = RemainingGap {
                start_ns: 1_500_000,
                length_ns,
                way_ns,
                is_unexplained: false,
            };
            sums.add(gap, time, 1_000);
        }
        assert_eq!(sums.blocks[1], [26_000.0, 3.0, 2.0, 0.0, 0.0]);
        assert_eq!(sums.least[1], [22_400.0, 2.0, 1.0, 0.0, 0.0]);
        assert_eq!(sums.lengths.len(), 3);
        assert_eq!(totals(&sums.blocks), sums.blocks[1]);
    }
}
