//! Where boot lines stand: a line is one or more places in files, because GRUB's has two variables and an entry may have
//! several `options`.

use crate::shell_line::ShellLine;
use crate::tree::{self, Tree};
use crate::{BootError, Edit, Writing};
use std::collections::BTreeMap;
use std::ops::Range;

/// One place in a file where a part of a boot line is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The file, links resolved.
    pub path: String,
    /// Its name within the file (`options`, `APPEND of linux`): it stays the same when other things are edited.
    pub key: String,
    /// The bytes in the file, or in the template where there is no file.
    pub range: Range<usize>,
    /// How it is written.
    pub writing: Writing,
    /// The content that the file begins with, where it is a file of our own.
    pub template: Option<String>,
    /// What has to be written around it, where the file has no such place yet.
    pub frame: Option<(String, String)>,
    /// The whole file has to keep its length (GRUB's environment block, filled with `#`).
    pub length: Length,
}

/// Whether a file may change its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It may become longer or shorter.
    Free,
    /// No: what is over at the end is `#`, and GRUB writes such a file block by block.
    Fixed,
}

/// The boot line of one entry, or of all that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is the line of, for people.
    pub name: String,
    /// Its parts, in the order in which the kernel sees them.
    pub slots: Vec<Slot>,
    /// The slot where new words go.
    pub home: usize,
    /// Whether words that are replaced stay in their place.
    pub gather: Gather,
    /// How a shell makes the line of its files; `None` where the slots are the line.
    pub shell: Option<ShellLine>,
}

/// Where a word goes that takes the place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// Into the place of the word that goes.
    InPlace,
    /// To the home slot, which is a file of our own.
    AtHome,
}

impl Slot {
    /// A slot in a file that is there.
    #[must_use]
    pub fn new(
        path: impl Into<String>,
        key: impl Into<String>,
        range: Range<usize>,
        writing: Writing,
    ) -> Slot {
        Slot {
            path: path.into(),
            key: key.into(),
            range,
            writing,
            template: None,
            frame: None,
            length: Length::Free,
        }
    }

    /// The content of its file, or what that begins with.
    ///
    /// # Errors
    /// A file that is no text.
    pub fn content(&self, tree: &dyn Tree) -> Result<String, BootError> {
        let text = tree::text(tree, &self.path)?;
        Ok(text.or_else(|| self.template.clone()).unwrap_or_default())
    }

    /// What is written in it.
    ///
    /// # Errors
    /// A file that is no text.
    pub fn raw(&self, tree: &dyn Tree) -> Result<String, BootError> {
        let content = self.content(tree)?;
        Ok(content.get(self.range.clone()).unwrap_or_default().to_owned())
    }
}

impl Line {
    /// A line with one place, where everything goes.
    #[must_use]
    pub fn of(name: impl Into<String>, slot: Slot) -> Line {
        Line {
            name: name.into(),
            slots: vec![slot],
            home: 0,
            gather: Gather::InPlace,
            shell: None,
        }
    }

    /// The whole line as the kernel gets it.
    ///
    /// # Errors
    /// A file that is no text, or one whose line is not computed.
    pub fn text(&self, tree: &dyn Tree) -> Result<String, BootError> {
        match &self.shell {
            Some(shell) => shell.text(tree),
            None => self.written(tree),
        }
    }

    /// The words that are written in its places. Where a shell reads them, the line may be another one.
    ///
    /// # Errors
    /// A file that is no text.
    pub fn written(&self, tree: &dyn Tree) -> Result<String, BootError> {
        let mut parts = Vec::new();
        for slot in &self.slots {
            let text = slot.writing.read(&slot.raw(tree)?);
            // A variable that a value adds to is the slot before it.
            let words = machine::cmdline::words(&text).filter(|word| !word.starts_with('$'));
            parts.extend(words.map(str::to_owned));
        }
        Ok(parts.join(" "))
    }
}

/// Edits that put new texts into slots; several may be in one file.
///
/// # Errors
/// A file that is no text, or a block that would be too small.
pub fn fill(tree: &dyn Tree, texts: &[(&Slot, String)]) -> Result<Vec<Edit>, BootError> {
    let mut by_file: BTreeMap<&str, Vec<&(&Slot, String)>> = BTreeMap::new();
    for one in texts {
        by_file.entry(one.0.path.as_str()).or_default().push(one);
    }
    let mut edits = Vec::new();
    for (path, mut slots) in by_file {
        // From the end, so that the places before stay right.
        slots.sort_by_key(|(slot, _)| std::cmp::Reverse(slot.range.start));
        let Some((first, _)) = slots.first() else {
            continue;
        };
        let mut content = first.content(tree)?;
        let size = content.len();
        for (slot, text) in &slots {
            let framed = match &slot.frame {
                Some((before, after)) if !text.is_empty() => format!("{before}{text}{after}"),
                _ => text.clone(),
            };
            content.replace_range(slot.range.clone(), &framed);
        }
        if slots.iter().any(|(slot, _)| slot.length == Length::Fixed) {
            content = refilled(content, size, path)?;
        }
        let before = tree::text(tree, path)?;
        if before.as_deref() != Some(content.as_str()) {
            edits.push(Edit::new(path, before, Some(content)));
        }
    }
    Ok(edits)
}

/// A block with its old length: `#` at its end comes and goes.
fn refilled(content: String, size: usize, path: &str) -> Result<String, BootError> {
    let used = content.trim_end_matches('#').len();
    if used > size {
        return Err(BootError::TooLong {
            entry: path.to_owned(),
            length: used,
            most: size,
            who: "GRUB's environment block".to_owned(),
        });
    }
    let mut content = content;
    content.truncate(used);
    content.push_str(&"#".repeat(size - used));
    Ok(content)
}
