//! Explains the terms that quietcore prints, for `explain WORD` and for the page of the manual.
//!
//! The list is `glossary.txt`: for each term a line with its names, a line of one or two sentences, and a line of other
//! words that `explain` knows. Knobs, kernel threads, counters, boot parameters and findings have tables of their own.

use super::Explanation;

const TERMS: &str = include_str!("glossary.txt");

/// One term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlossaryTerm {
    /// Its name, then other words for it.
    pub names: Vec<&'static str>,
    /// What it means, in one or two sentences.
    pub what: &'static str,
    /// Other words that `explain` knows.
    pub see: Vec<&'static str>,
}

/// Every term, by name.
pub fn glossary() -> impl Iterator<Item = GlossaryTerm> {
    TERMS.split("\n\n").map(|entry| {
        let mut lines = entry.lines();
        let mut line = || lines.next().unwrap_or_default();
        let (names, what, see) = (line(), line(), line());
        GlossaryTerm {
            names: names.split(", ").collect(),
            what,
            see: see.trim_start_matches("see: ").split(", ").collect(),
        }
    })
}

/// The explanation of a term.
pub(super) fn of_term(word: &str) -> Option<Explanation> {
    let term = glossary().find(|term| term.names.iter().any(|name| is_same(name, word)))?;
    let (name, others) = term.names.split_first()?;
    let entry = Explanation::new("term", *name, term.what);
    Some(entry.part("also", others.join(", ")).part("see", term.see.join(", ")))
}

/// Whether a word is this name: in any case, singular or plural, with a blank, `-` or `_` between its parts.
fn is_same(name: &str, word: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
    let (name, word) = (plain(name), plain(word));
    name == word || word.strip_suffix('s') == Some(name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn terms_are_sorted_unique_and_short() {
        let terms: Vec<GlossaryTerm> = glossary().collect();
        assert!(terms.len() > 90 && TERMS.ends_with('\n'));
        assert!(terms.is_sorted_by_key(|term| term.names[0].to_lowercase()));
        let names = terms.iter().flat_map(|term| &term.names);
        let names: Vec<String> = names.map(|name| name.to_lowercase()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for term in &terms {
            assert!(term.what.ends_with('.') && term.what.len() < 260, "{term:?}");
            assert!(!term.see.iter().any(|word| term.names.contains(word)), "{term:?}");
        }
        assert_eq!(TERMS.matches("\nsee: ").count(), terms.len());
    }

    #[test]
    fn a_term_is_found_in_any_case_and_number() {
        for word in [
            "Stray",
            "knobs",
            "KNOB",
            "boot-line",
            "Command Line",
            "stolen_time",
            "tsc",
        ] {
            assert!(of_term(word).is_some(), "{word}");
        }
        assert!(of_term("knobz").is_none() && of_term("").is_none() && of_term("s").is_none());
    }
}
