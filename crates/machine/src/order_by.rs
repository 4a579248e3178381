//! Sorts slices with one copy of the sort algorithm.
//!
//! Each call of `sort_by` with another type or another closure has its own copy of the standard library's sort, about 4 KB of the
//! binary. Here one copy sorts indices. Where speed counts (events, samples) the standard library's sort is used.

use std::cmp::Ordering;

/// Slices that can be sorted. The order of equal elements stays.
pub trait OrderBy<T> {
    /// Sorts by a comparison, as `sort_by`.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key, as `sort_by_key`.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> OrderBy<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut sources = order(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        move_each(&mut sources, &mut |a, b| self.swap(a, b));
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// For each place, the place of the element that belongs there.
fn order(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sources: Vec<usize> = (0..len).collect();
    sources.sort_by(|&a, &b| compare(a, b));
    sources
}

/// Moves each element from its source, one cycle of the permutation after the other.
fn move_each(sources: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..sources.len() {
        let mut place = start;
        loop {
            let source = std::mem::replace(&mut sources[place], place);
            if source == start || source == place {
                break;
            }
            swap(place, source);
            place = source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_the_one_of_a_stable_sort(keys in proptest::collection::vec(0u8..6, 0..40)) {
            let mut ordered: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut sorted = ordered.clone();
            ordered.order_by_key(|(key, _)| std::cmp::Reverse(*key));
            sorted.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            prop_assert_eq!(ordered, sorted);
        }
    }
}
