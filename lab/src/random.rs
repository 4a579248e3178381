//! Random numbers that are reproducible from a seed (SplitMix64, in the public domain).

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A waiting time with mean 1, as between independent events.
    pub fn exponential(&mut self) -> f64 {
        let unit = (self.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        -(1.0 - unit).ln()
    }

    /// Shuffles the items. Every order is equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.draw() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_a_repeatable_sequence() {
        // The published first numbers of seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.draw(), 6_457_827_717_110_365_317);
        assert_eq!(random.draw(), 3_203_168_211_198_807_973);
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<u32>>(), "nothing is lost");
    }

    #[test]
    fn exponential_waiting_times_have_mean_one() {
        let mut random = Random::new(5);
        let sum: f64 = (0..20_000).map(|_| random.exponential()).sum();
        assert!((sum / 20_000.0 - 1.0).abs() < 0.03, "{sum}");
    }
}
