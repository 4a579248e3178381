//! The order of the runs: blocks that hold every cell once, each shuffled. Where cells need boots, a block holds every boot
//! once, shuffled as well, and its cells follow each other.

use crate::Study;

/// For every repetition the places of all cells in the order in which they run. The same seed gives the same order, and a
/// block does not depend on how many follow.
#[must_use]
pub fn blocks(cells: usize, repetitions: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random(seed);
    (0..repetitions)
        .map(|_| random.shuffled((0..cells).collect()))
        .collect()
}

impl Study {
    /// The order of its runs: for every repetition the places of all cells.
    #[must_use]
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        if self.boots.len() < 2 {
            return blocks(self.cells.len(), self.repetitions, self.seed);
        }
        let mut random = Random(self.seed);
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

/// SplitMix64 (Steele, Lea, Flood 2014): passes the usual tests, and is the same everywhere for ever.
struct Random(u64);

impl Random {
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

    /// Evenly below `end`, which is above 0.
    fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        // What is left over at the top would favour the low numbers.
        let whole = u64::MAX - u64::MAX % end;
        loop {
            let bits = self.next();
            if bits < whole {
                return usize::try_from(bits % end).unwrap_or_default();
            }
        }
    }
}
