//! Handles boot lines of loaders whose files are displayed but not edited: their positions, the running one, the new text.

use super::{BootEntry, Fallback, Loader, WordSupport, word_list};
use crate::line::{EntryLine, LineSlot};
use crate::tree::FileTree;

use crate::TextEncoding;
use std::ops::Range;

/// What loaders have in common whose files are displayed but not edited. No entry can be added to the existing ones.
pub(super) const DISPLAYED: Loader = Loader {
    fallback: |_| {
        Ok(Fallback::none(
            "quietcore does not edit these files",
            "keep the entry as it is, and edit a copy of it",
        ))
    },
    words: WordSupport::Any,
    ..Loader::PLAIN
};

/// One boot line in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileLine {
    /// The file.
    pub path: String,
    /// Its line in the file, from 1.
    pub number: usize,
    /// Its entry.
    pub title: String,
    /// The bytes of the boot line in the file.
    pub range: Range<usize>,
    /// The whole line of the file.
    pub written: String,
    /// The boot line.
    pub text: String,
}

impl FileLine {
    /// Converts it to a line of its loader.
    pub fn line(&self, key: &str) -> EntryLine {
        let key = format!("{key} of line {}", self.number);
        EntryLine::of(
            self.title.clone(),
            LineSlot::new(self.path.clone(), key, self.range.clone(), TextEncoding::Plain),
        )
    }

    /// Converts it to a bootable entry.
    pub fn entry(self) -> BootEntry {
        BootEntry {
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
    text.split_inclusive('\n').enumerate().map(move |(number, whole)| {
        let line = whole.trim_end_matches(['\n', '\r']);
        let start = at;
        at += whole.len();
        (number + 1, start..start + line.len(), line)
    })
}

/// The running line: the one that shares the most words with it, of equal ones the first.
pub(super) fn started(tree: &dyn FileTree, all: Vec<FileLine>) -> Option<FileLine> {
    let running = tree.read_text("/proc/cmdline").unwrap_or_default();
    word_list::nearest(&running, all, |one| &one.text)
}

/// Words in the syntax of the line.
pub(super) fn words(words: &[String]) -> String {
    match words.is_empty() {
        true => "WORDS".to_owned(),
        false => words.join(" "),
    }
}

/// A description of the words, if none are known.
pub(super) fn without_words(words: &[String]) -> &'static str {
    match words.is_empty() {
        true => " with the parameters that `quietcore plan` lists",
        false => "",
    }
}
