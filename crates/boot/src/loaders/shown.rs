//! Boot lines of loaders whose files are shown and not edited: where each is, which one runs, what it would become.

use super::{Entry, Fallback};
use crate::Writing;
use crate::line::{Line, Slot};
use crate::tree::{self, Tree};
use machine::cmdline::words as split;
use std::ops::Range;

/// One boot line in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// The file.
    pub path: String,
    /// Its line in the file, from 1.
    pub number: usize,
    /// The entry that it belongs to.
    pub title: String,
    /// The bytes of the boot line in the file.
    pub range: Range<usize>,
    /// The whole line of the file.
    pub written: String,
    /// The boot line.
    pub text: String,
}

impl Shown {
    /// As a line of its loader.
    pub fn line(&self, key: &str) -> Line {
        let key = format!("{key} of line {}", self.number);
        Line::of(
            self.title.clone(),
            Slot::new(self.path.clone(), key, self.range.clone(), Writing::Plain),
        )
    }

    /// As something that can be booted.
    pub fn entry(self) -> Entry {
        Entry {
            id: format!("{}:{}", self.path, self.number),
            title: self.title,
            path: self.path,
            line: self.text,
        }
    }
}

/// The lines of a text with their numbers from 1 and their bytes, without line ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Range<usize>, &str)> {
    let mut at = 0;
    text.split_inclusive('\n')
        .enumerate()
        .map(move |(number, whole)| {
            let line = whole.trim_end_matches(['\n', '\r']);
            let start = at;
            at += whole.len();
            (number + 1, start..start + line.len(), line)
        })
}

/// The line that runs: the one with most words of the running line, of equal ones the first.
pub(super) fn started(tree: &dyn Tree, all: Vec<Shown>) -> Option<Shown> {
    let running = tree::look(tree, "/proc/cmdline").unwrap_or_default();
    let running: Vec<&str> = split(running.trim_end()).collect();
    let apart = |one: &Shown| {
        let own: Vec<&str> = split(&one.text).collect();
        let missing = own.iter().filter(|word| !running.contains(word)).count();
        let more = running.iter().filter(|word| !own.contains(word)).count();
        missing + more
    };
    all.into_iter().min_by_key(apart)
}

/// Words as they are written on the line.
pub(super) fn words(words: &[String]) -> String {
    match words.is_empty() {
        true => "WORDS".to_owned(),
        false => words.join(" "),
    }
}

/// Which words those are, where none are known.
pub(super) fn without_words(words: &[String]) -> &'static str {
    match words.is_empty() {
        true => " with the words that `quietcore plan` shows",
        false => "",
    }
}

/// No entry is made beside those that are there.
pub(super) fn no_fallback() -> Fallback {
    Fallback::None {
        why: "quietcore does not edit these files".to_owned(),
        next: "keep the entry as it is, and edit a copy of it".to_owned(),
    }
}
