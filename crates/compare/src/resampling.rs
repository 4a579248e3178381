//! Permutations and random draws of repetitions, with their mean and variance.

/// The values at these indexes.
pub fn values_at(values: &[f64], places: &[usize]) -> Vec<f64> {
    places.iter().filter_map(|place| values.get(*place).copied()).collect()
}

/// Their mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values)
}

/// The sample variance, with n - 1 as the divisor; 0 for a single value, which no caller passes.
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    sum / (count(values) - 1.0).max(1.0)
}

/// Their number.
pub fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// The binomial coefficient.
pub fn deals(chosen: usize, all: usize) -> f64 {
    (0..chosen).fold(1.0, |ways, place| ways * (all - place) as f64 / (place + 1) as f64)
}

/// All combinations: the chosen indexes first, then the others.
pub fn each_deal(chosen: usize, all: usize, look: &mut dyn FnMut(&[usize])) {
    let mut places: Vec<usize> = (0..chosen).collect();
    let mut deal = Vec::with_capacity(all);
    loop {
        deal.clear();
        deal.extend(&places);
        deal.extend((0..all).filter(|place| !places.contains(place)));
        look(&deal);
        // Advances the last index that can advance; those behind it follow.
        let Some(turn) = (0..chosen).rev().find(|&turn| places[turn] < all - chosen + turn) else {
            return;
        };
        let from = places[turn] + 1;
        for (step, place) in places[turn..].iter_mut().enumerate() {
            *place = from + step;
        }
    }
}

/// SplitMix64 with a fixed seed: the same files give the same answer.
pub struct ResamplingRng(u64);

impl Default for ResamplingRng {
    fn default() -> ResamplingRng {
        ResamplingRng(0x5eed)
    }
}

impl ResamplingRng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        // The high half of the product is uniform enough for limits of some hundreds.
        usize::try_from((u128::from(bits) * limit as u128) >> 64).unwrap_or(0)
    }

    /// As many random indexes below the limit, with replacement.
    pub fn draw(&mut self, limit: usize) -> Vec<usize> {
        (0..limit).map(|_| self.below(limit)).collect()
    }

    /// Shuffles the values.
    pub fn shuffle(&mut self, values: &mut [usize]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}
