//! Compares word lists of boot lines. Files of others may be long, so a list that is queried for each word of another
//! is a set.

use machine::cmdline::{Parameter, same_name, words};
use std::collections::BTreeSet;

/// The words of a list, regardless of their quoting: GRUB moves quotes to the front of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSet(BTreeSet<(String, Option<String>)>);

impl WordSet {
    /// The words of a line.
    #[must_use]
    pub fn of_line(line: &str) -> WordSet {
        words(line).collect()
    }

    /// Whether it contains a word.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.0.contains(&key(word))
    }

    /// Adds a word; false if it is there already.
    pub fn add(&mut self, word: &str) -> bool {
        self.0.insert(key(word))
    }

    /// The words of a line that are not in the list.
    #[must_use]
    pub fn missing<'a>(&self, line: &'a str) -> Vec<&'a str> {
        words(line).filter(|word| !self.has(word)).collect()
    }
}

impl<'a> FromIterator<&'a str> for WordSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(all: I) -> WordSet {
        WordSet(all.into_iter().map(key).collect())
    }
}

/// Name and value. The kernel does not distinguish `-` from `_` in a name.
fn key(word: &str) -> (String, Option<String>) {
    let one = Parameter::parse(word);
    (one.name.replace('-', "_"), one.value)
}

/// The line that is most similar to the given one; of equal ones the first.
pub fn nearest<T>(line: &str, all: Vec<T>, text: impl Fn(&T) -> &str) -> Option<T> {
    let there = WordSet::of_line(line);
    let apart = |one: &T| {
        let own = WordSet::of_line(text(one));
        there.missing(text(one)).len() + own.missing(line).len()
    };
    all.into_iter().min_by_key(apart)
}

/// Whether a word sets a parameter with one of these names.
pub fn has_name(word: &str, names: &[&str]) -> bool {
    let name = Parameter::parse(word).name;
    names.iter().any(|known| same_name(known, &name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_dashes_do_not_make_a_word_different() {
        let set = WordSet::of_line("\"dyndbg=file a +p\" rcu-nocbs=1 quiet");
        for word in ["dyndbg=\"file a +p\"", "rcu_nocbs=1", "quiet"] {
            assert!(set.has(word), "{word}");
        }
        assert_eq!(set.missing("quiet=1 rcu_nocbs=2 quiet"), ["quiet=1", "rcu_nocbs=2"]);
    }
}
