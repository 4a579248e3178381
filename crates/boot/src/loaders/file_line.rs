//! Handles boot lines of loaders whose files are displayed but not edited: their positions, the running one, the new text.

use super::{
    Adds, Entry, Fallback, Keeper, Loader, Words, entries_as_they_are, no_remarks, nothing_to_run, word_list,
};
use crate::line::{Line, Slot};
use crate::tree::{self, Tree};
use crate::trial::{OneBoot, Trial, TrialWork};
use crate::{BootError, Writing};
use std::ops::Range;

/// A loader whose files are displayed but not edited.
pub(super) trait Displayed {
    /// The name for `--loader`, which is also the name that the loader reports to the firmware.
    const NAME: &'static str;
    /// A one-line description.
    const ABOUT: &'static str;
    /// The name of the boot line in its files.
    const KEY: &'static str;

    /// The evidence for it on a machine.
    fn find(tree: &dyn Tree) -> Option<String>;

    /// Every boot line of Linux.
    fn file_lines(tree: &dyn Tree) -> Vec<FileLine>;

    /// Why its files are not edited, with the line as it should be.
    fn refusal(tree: &dyn Tree, words: &[String]) -> BootError;
}

/// This loader as a row of the list.
pub(super) const fn loader<D: Displayed>() -> Loader {
    Loader {
        name: D::NAME,
        about: D::ABOUT,
        find: D::find,
        lines: lines_of::<D>,
        entries: entries_of::<D>,
        commit: nothing_to_run,
        fallback: no_fallback,
        trial: Trial::By(trial_of::<D>),
        words: Words::Any,
        keeper: Keeper::Files,
        efi_name: Some(D::NAME),
        source: entries_as_they_are,
        adds: Adds::These(&[]),
        remarks: no_remarks,
        refuses: refuses::<D>,
    }
}

fn lines_of<D: Displayed>(tree: &dyn Tree) -> Result<Vec<Line>, BootError> {
    Ok(D::file_lines(tree).iter().map(|one| one.line(D::KEY)).collect())
}

fn entries_of<D: Displayed>(tree: &dyn Tree) -> Vec<Entry> {
    D::file_lines(tree).into_iter().map(FileLine::entry).collect()
}

/// No entry can be added to the existing ones.
fn no_fallback(_tree: &dyn Tree) -> Result<Fallback, BootError> {
    Ok(Fallback::None {
        why: "quietcore does not edit these files".to_owned(),
        next: "keep the entry as it is, and edit a copy of it".to_owned(),
    })
}

fn trial_of<D: Displayed>(tree: &dyn Tree, wanted: &OneBoot) -> Result<TrialWork, BootError> {
    Err(D::refusal(tree, &wanted.words))
}

fn refuses<D: Displayed>(tree: &dyn Tree, words: &[String]) -> Option<BootError> {
    Some(D::refusal(tree, words))
}

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
    pub fn line(&self, key: &str) -> Line {
        let key = format!("{key} of line {}", self.number);
        Line::of(
            self.title.clone(),
            Slot::new(self.path.clone(), key, self.range.clone(), Writing::Plain),
        )
    }

    /// Converts it to a bootable entry.
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

/// The running line: the one that shares the most words with it, of equal ones the first.
pub(super) fn started(tree: &dyn Tree, all: Vec<FileLine>) -> Option<FileLine> {
    let running = tree::look(tree, "/proc/cmdline").unwrap_or_default();
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
        true => " with the words that `quietcore plan` shows",
        false => "",
    }
}
