//! Lists of words of boot lines: what one has and another has not.

use machine::cmdline::{Parameter, same_name, words};

/// The one of several whose words are nearest to those of a line; of equal ones the first.
pub fn nearest<T>(running: &str, all: Vec<T>, text: impl Fn(&T) -> &str) -> Option<T> {
    let running: Vec<&str> = words(running).collect();
    let apart = |one: &T| {
        let own: Vec<&str> = words(text(one)).collect();
        without(&own, &running).len() + without(&running, &own).len()
    };
    all.into_iter().min_by_key(apart)
}

/// The words of one list that another does not have.
pub fn without<'a>(all: &[&'a str], others: &[&str]) -> Vec<&'a str> {
    let missing = all.iter().filter(|word| !is_in(word, others));
    missing.copied().collect()
}

/// Whether a list has a word, however its quotes are written: GRUB moves them in front of the name.
pub fn is_in(word: &str, all: &[&str]) -> bool {
    let wanted = Parameter::parse(word);
    let same = |other: &&str| {
        let other = Parameter::parse(other);
        other.value == wanted.value && same_name(&other.name, &wanted.name)
    };
    all.contains(&word) || all.iter().any(same)
}

/// Whether a word sets a parameter with one of these names.
pub fn has_name(word: &str, names: &[&str]) -> bool {
    let name = Parameter::parse(word).name;
    names.iter().any(|known| same_name(known, &name))
}
