//! Collects entries into a map one by one.
//!
//! `collect` sorts the entries before it builds a `BTreeMap`. Each type of key and value then has its own copy of the standard
//! library's sort, about 4 KB of the binary. The maps here are small or get their entries in order, so inserting costs no more.

use std::collections::BTreeMap;

/// Iterators over the entries of a map.
pub trait MapEntries: Iterator {
    /// The map of these entries, as from `collect`: of equal keys, the last value counts.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Sized + Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            map.insert(key, value);
        }
        map
    }
}

impl<I: Iterator> MapEntries for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_become_the_same_map_as_with_collect() {
        let entries = [(3, "c"), (1, "a"), (2, "b"), (1, "last")];
        let map = entries.into_iter().into_map();
        assert_eq!(map, entries.into_iter().collect::<BTreeMap<_, _>>());
        assert_eq!(map.get(&1), Some(&"last"));
    }
}
