//! Computes the order of the runs.
//!
//! A block contains every cell once, in random order. Where cells need boots, a block contains every boot once, in random
//! order, and the cells of a boot follow each other.

use crate::Study;

/// For every repetition, the indexes of all cells in the order in which they run. The same seed gives the same order. A block
/// does not depend on the number of blocks after it.
#[must_use]
pub fn blocks(cells: usize, repetitions: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = OrderRng(seed);
    (0..repetitions)
        .map(|_| random.shuffled((0..cells).collect()))
        .collect()
}

impl Study {
    /// The order of its runs: for every repetition, the indexes of all cells.
    #[must_use]
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        if self.boots.len() < 2 {
            return blocks(self.cells.len(), self.repetitions, self.seed);
        }
        let mut random = OrderRng(self.seed);
        (0..self.repetitions)
            .map(|_| {
                let boots = random.shuffled((0..self.boots.len()).collect());
                boots
                    .into_iter()
                    .flat_map(|boot| random.shuffled(self.cells_of(boot).collect()))
                    .collect()
            })
            .collect()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): passes the usual tests and gives the same sequence on every platform and version.
struct OrderRng(u64);

impl OrderRng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn shuffled(&mut self, mut all: Vec<usize>) -> Vec<usize> {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
        all
    }

    /// Uniform below `end`, which is above 0.
    fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        // The incomplete range at the top would favour low numbers.
        let whole = u64::MAX - u64::MAX % end;
        loop {
            let bits = self.next();
            if bits < whole {
                return usize::try_from(bits % end).unwrap_or_default();
            }
        }
    }
}
