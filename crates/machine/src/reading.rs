//! Reads one-value files of a [`Root`] and records those that exist but cannot be read or parsed.
//!
//! A reader never fails: both absence and errors are `None`. Errors are also recorded, so that no command mistakes "not
//! allowed to read" for "not there".

use crate::CpuSet;
use root::{DirectoryEntry, DirectoryEntryType, DirectoryHandle, PathKind, Root, RootError};
use std::cell::RefCell;

/// Maximum number of listed errors: an unprivileged reader gets one for every task.
const MAX_LISTED: usize = 200;

/// A file that exists but could not be read or parsed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableFile {
    /// Path inside the root.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl UnreadableFile {
    /// Whether this user may not read it. A captured machine has only the text of the error.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.why.to_lowercase().contains("permission denied")
    }
}

/// The CPU list in a file; `None` if there is none that can be read.
#[must_use]
pub fn cpu_list(root: &Root, path: &str) -> Option<CpuSet> {
    CpuSet::parse_list(&root.readable_value(path)?).ok()
}

/// A [`Root`] with a list of what could not be read through it. One per thread.
pub(crate) struct RootReader<'a> {
    root: &'a Root,
    unreadable: RefCell<Vec<UnreadableFile>>,
}

impl<'a> RootReader<'a> {
    pub(crate) fn new(root: &'a Root) -> RootReader<'a> {
        RootReader {
            root,
            unreadable: RefCell::new(Vec::new()),
        }
    }

    pub(crate) fn into_unreadable(self) -> Vec<UnreadableFile> {
        self.unreadable.into_inner()
    }

    /// Records that a file exists but is unusable.
    pub(crate) fn note(&self, path: &str, why: &impl std::fmt::Display) {
        let mut list = self.unreadable.borrow_mut();
        if list.len() < MAX_LISTED {
            list.push(UnreadableFile {
                path: path.to_owned(),
                why: why.to_string(),
            });
        }
    }

    fn or_note<T>(&self, path: &str, outcome: Result<Option<T>, RootError>) -> Option<T> {
        outcome.unwrap_or_else(|error| {
            self.note(path, &error);
            None
        })
    }

    /// The content of a one-value file, trimmed.
    pub(crate) fn value(&self, path: &str) -> Option<String> {
        self.or_note(path, self.root.value(path))
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.or_note(path, self.root.text(path))
    }

    /// As [`RootReader::text`]; a larger file counts as unreadable.
    pub(crate) fn text_at_most(&self, path: &str, most: usize) -> Option<String> {
        let text = self.text(path)?;
        if text.len() > most {
            self.note(path, &format!("it has {} bytes; the limit is {most}", text.len()));
            return None;
        }
        Some(text)
    }

    pub(crate) fn inflated(&self, path: &str) -> Option<String> {
        self.or_note(path, self.root.inflated(path))
    }

    pub(crate) fn record_into(&self, path: &str, content: &mut Vec<u8>) -> bool {
        self.or_note(path, self.root.record_into(path, content).map(Some))
            .unwrap_or(false)
    }

    /// An open directory, with the numbers in it.
    pub(crate) fn numbered_place(&self, dir: &str) -> Option<(DirectoryHandle<'a>, Vec<u32>)> {
        let place = self.or_note(dir, self.root.place(dir))?;
        let numbers = self.or_note(dir, place.numbers().map(Some))?;
        Some((place, numbers))
    }

    /// As [`RootReader::record_into`] for a name in an open directory.
    pub(crate) fn record_at(&self, place: &DirectoryHandle, name: &str, content: &mut Vec<u8>) -> bool {
        place.record_into(name, content).unwrap_or_else(|error| {
            self.note(&place.path_of(name), &error);
            false
        })
    }

    pub(crate) fn lines(&self, path: &str, each: &mut dyn FnMut(&[u8])) -> bool {
        self.or_note(path, self.root.lines(path, each).map(Some))
            .unwrap_or(false)
    }

    pub(crate) fn kind(&self, path: &str) -> Option<PathKind> {
        self.or_note(path, self.root.kind(path))
    }

    /// The target of a symbolic link; `None` for anything else.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        self.or_note(path, self.root.link(path))
    }

    pub(crate) fn mode(&self, path: &str) -> Option<u32> {
        self.or_note(path, self.root.mode(path))
    }

    pub(crate) fn entries(&self, dir: &str) -> Option<Vec<DirectoryEntry>> {
        self.or_note(dir, self.root.entries(dir))
    }

    /// The real subdirectories of a directory, sorted; links are skipped.
    pub(crate) fn dirs(&self, dir: &str) -> Option<Vec<String>> {
        let is_dir = |entry: DirectoryEntry| (entry.kind == DirectoryEntryType::Dir).then_some(entry.name);
        Some(self.entries(dir)?.into_iter().filter_map(is_dir).collect())
    }

    /// The numbers of the names `prefixN` in a directory, sorted; `None` if there is no directory.
    pub(crate) fn numbered(&self, dir: &str, prefix: &str) -> Option<Vec<u32>> {
        let number = |entry: DirectoryEntry| entry.name.strip_prefix(prefix)?.parse::<u32>().ok();
        let mut numbers: Vec<u32> = self.entries(dir)?.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        Some(numbers)
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        let value = self.value(path)?;
        let number = value.parse().ok();
        if number.is_none() && !value.is_empty() {
            self.note(path, &format!("`{value}` is not a number"));
        }
        number
    }

    /// A file that holds `0` or `1`.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        self.number::<i64>(path).map(|number| number != 0)
    }

    /// A file that holds a CPU list.
    pub(crate) fn list(&self, path: &str) -> Option<CpuSet> {
        let value = self.value(path)?;
        self.ok_or_note(path, CpuSet::parse_list(&value))
    }

    /// A file that holds a mask.
    pub(crate) fn mask(&self, path: &str) -> Option<CpuSet> {
        let value = self.value(path)?;
        self.ok_or_note(path, CpuSet::parse_mask(&value))
    }

    /// The list in `base_list`, or the mask in `base` if an old kernel has no list.
    pub(crate) fn list_or_mask(&self, list: &str, mask: &str) -> Option<CpuSet> {
        self.list(list).or_else(|| self.mask(mask))
    }

    pub(crate) fn ok_or_note<T, E: std::fmt::Display>(&self, path: &str, outcome: Result<T, E>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.note(path, &error);
                None
            }
        }
    }
}
