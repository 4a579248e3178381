//! Words for messages: CPUs as text, and the known words that a user may have meant.

use machine::CpuSet;
use machine::OrderBy;

/// CPUs as a list; `none` without any.
#[must_use]
pub fn cpus_or_none(set: &CpuSet) -> String {
    match set.is_empty() {
        true => "none".to_owned(),
        false => set.to_string(),
    }
}

/// The length of the longest word that is compared, in bytes.
const MOST_LETTERS: usize = 80;

/// The words nearest to one, nearest first: those that differ by a few letters, then those that contain it or are part of it.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    nearest_of(word, &mut known.into_iter(), count)
}

/// Not generic: the binary holds this function and its sort once.
fn nearest_of<'a>(word: &str, known: &mut dyn Iterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let lower_word = word.to_ascii_lowercase();
    // A long word is compared in time that grows with its length, and resembles none.
    if lower_word.is_empty() || lower_word.len() > MOST_LETTERS {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = known
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let apart = strsim::osa_distance(&lower_word, &lower);
            let contains = lower_word.len() > 2 && lower.contains(&lower_word);
            let is_part = lower.len() > 2 && has_part(&lower_word, &lower);
            let letters = lower_word.chars().count();
            let limit = letters.max(3) / 3;
            // Words without a common letter are not similar.
            let is_near = apart <= limit && apart < letters.max(lower.chars().count());
            let rank = if is_near { apart } else { limit + 1 };
            (is_near || contains || is_part).then_some((rank, name))
        })
        .collect();
    // Of equally near words the shorter one is more likely.
    near.order_by_key(|(rank, name)| (*rank, name.len(), *name));
    near.dedup();
    near.into_iter().take(count).map(|(_, name)| name).collect()
}

/// Whether a word consists of parts and one of them is the given one: `irq` in `irq_afinity`, but not `pin` in `housekeping`.
fn has_part(word: &str, part: &str) -> bool {
    let is_edge = |beside: Option<char>| beside.is_none_or(|letter| !letter.is_alphanumeric());
    word.match_indices(part).any(|(at, _)| {
        let (before, rest) = word.split_at(at);
        is_edge(before.chars().next_back()) && is_edge(rest.strip_prefix(part).and_then(|rest| rest.chars().next()))
    })
}

/// `did you mean rq_affinity, irq_affinity?`; `None` if no known word is similar.
#[must_use]
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(word, known, 3);
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_words_are_suggested() {
        let known = ["irq_affinity", "rq_affinity", "isolcpus", "LOC"];
        assert_eq!(nearest("rq_afinity", known, 2), ["rq_affinity", "irq_affinity"]);
        assert!(nearest("zzzzzzzzzz", known, 3).is_empty());
        assert_eq!(
            nearest("irq_afinity", ["IRQ", "irq_affinity"], 2),
            ["irq_affinity", "IRQ"]
        );
        assert_eq!(nearest("housekeping", ["housekeeping", "pin"], 2), ["housekeeping"]);
        // Two letters in the wrong order are one mistake.
        assert_eq!(nearest("LCO", known, 1), ["LOC"]);
        assert_eq!(
            did_you_mean("isolcup", known).as_deref(),
            Some("did you mean isolcpus?")
        );
        assert_eq!(did_you_mean("zzzzzzzzzz", known), None);
        assert_eq!(did_you_mean("a", ["b", "c"]), None);
    }
}
