//! Words for messages: CPUs as text, and how far apart two words are, for "did you mean".

use machine::CpuSet;

/// CPUs as a list; `none` without any.
pub(crate) fn cpus_or_none(set: &CpuSet) -> String {
    match set.is_empty() {
        true => "none".to_owned(),
        false => set.to_string(),
    }
}

/// Letters to insert, remove or replace to turn one word into another (Levenshtein), for short words.
#[must_use]
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut before = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, other) in row.iter_mut().skip(1).zip(&other) {
            let replaced = before + usize::from(letter != *other);
            before = *cell;
            left = replaced.min(before + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The words nearest to one, nearest first: a word that contains it or starts like it counts as near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let lower_word = word.to_ascii_lowercase();
    if lower_word.is_empty() {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let apart = distance(&lower_word, &lower);
            let contains =
                lower_word.len() > 2 && (lower.contains(&lower_word) || lower_word.contains(&lower) && lower.len() > 2);
            let limit = (lower_word.chars().count().max(3)) / 2;
            if contains {
                Some((1, name))
            } else {
                (apart <= limit).then_some((apart + 1, name))
            }
        })
        .collect();
    // Of equally near words the shorter one is more likely.
    near.sort_unstable_by_key(|(apart, name)| (*apart, name.len(), *name));
    near.dedup();
    near.into_iter().take(count).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_are_symmetric_and_correct() {
        for (one, other, wanted) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("isolcpu", "isolcpus", 1),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
            assert_eq!(distance(other, one), wanted, "{other} {one}");
        }
    }

    #[test]
    fn the_nearest_words_are_suggested() {
        let known = ["irq_affinity", "rq_affinity", "isolcpus", "LOC"];
        assert_eq!(nearest("rq_afinity", known, 2), ["rq_affinity", "irq_affinity"]);
        assert!(nearest("zzzzzzzzzz", known, 3).is_empty());
    }
}
