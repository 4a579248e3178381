//! Represents boot lines by their positions. A line has one or more slots in files, because GRUB's has two variables and an
//! entry may have several `options`.

use crate::shell_line::ShellLine;
use crate::tree::FileTree;
use crate::{BootError, FileEdit, TextEncoding};
use machine::OrderBy;
use std::collections::BTreeMap;
use std::ops::Range;

/// One position in a file that holds a part of a boot line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSlot {
    /// The file, with links resolved.
    pub path: String,
    /// Its name within the file (`options`, `APPEND of linux`), which other edits do not change.
    pub key: String,
    /// The byte range in the file, or in the template if there is no file.
    pub range: Range<usize>,
    /// Its encoding.
    pub writing: TextEncoding,
    /// The initial content of a file of our own.
    pub template: Option<String>,
    /// The text to write around it, if the file has no such slot yet.
    pub frame: Option<(String, String)>,
    /// Whether the file must keep its length (GRUB's environment block, padded with `#`).
    pub length: LengthRule,
}

/// Whether a file may change its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthRule {
    /// Yes.
    Free,
    /// No: the rest is padded with `#`, because GRUB writes such a file block by block.
    Fixed,
}

/// The boot line of one entry, or of all entries that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLine {
    /// Its display name.
    pub name: String,
    /// Its parts, in the kernel's order.
    pub slots: Vec<LineSlot>,
    /// The slot for new words.
    pub new_word_slot: usize,
    /// Whether a replacement goes into the slot of the old word.
    pub gather: SlotChoice,
    /// How a shell builds the line from its files; `None` if the slots are the line.
    pub shell: Option<ShellLine>,
}

/// The slot for a word that replaces another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotChoice {
    /// The slot of the old word.
    InPlace,
    /// The home slot, in a file of our own.
    NewWordSlot,
}

impl LineSlot {
    /// A slot in an existing file.
    #[must_use]
    pub fn new(
        path: impl Into<String>,
        key: impl Into<String>,
        range: Range<usize>,
        writing: TextEncoding,
    ) -> LineSlot {
        LineSlot {
            path: path.into(),
            key: key.into(),
            range,
            writing,
            template: None,
            frame: None,
            length: LengthRule::Free,
        }
    }

    /// The content of its file, or the initial content.
    ///
    /// # Errors
    /// A file that is not text.
    pub fn content(&self, tree: &dyn FileTree) -> Result<String, BootError> {
        let text = tree.text(&self.path)?;
        Ok(text.or_else(|| self.template.clone()).unwrap_or_default())
    }

    /// The encoded text in it.
    ///
    /// # Errors
    /// A file that is not text.
    pub fn raw(&self, tree: &dyn FileTree) -> Result<String, BootError> {
        let content = self.content(tree)?;
        Ok(content.get(self.range.clone()).unwrap_or_default().to_owned())
    }
}

impl EntryLine {
    /// A line with one slot.
    #[must_use]
    pub fn of(name: impl Into<String>, slot: LineSlot) -> EntryLine {
        EntryLine {
            name: name.into(),
            slots: vec![slot],
            new_word_slot: 0,
            gather: SlotChoice::InPlace,
            shell: None,
        }
    }

    /// The whole line that the kernel gets.
    ///
    /// # Errors
    /// A file that is not text, or one whose line cannot be computed.
    pub fn text(&self, tree: &dyn FileTree) -> Result<String, BootError> {
        match &self.shell {
            Some(shell) => shell.text(tree),
            None => self.written(tree),
        }
    }

    /// The words in its slots. If a shell reads them, the line may differ.
    ///
    /// # Errors
    /// A file that is not text.
    pub fn written(&self, tree: &dyn FileTree) -> Result<String, BootError> {
        let mut parts = Vec::new();
        for slot in &self.slots {
            let text = slot.writing.read(&slot.raw(tree)?);
            // The slot before holds the variable that a value adds to.
            let words = machine::cmdline::words(&text).filter(|word| !word.starts_with('$'));
            parts.extend(words.map(str::to_owned));
        }
        Ok(parts.join(" "))
    }
}

/// Creates edits that put new texts into slots; several may be in one file.
///
/// # Errors
/// A file that is not text, or a block that would be too small.
pub fn fill(tree: &dyn FileTree, texts: &[(&LineSlot, String)]) -> Result<Vec<FileEdit>, BootError> {
    let mut by_file: BTreeMap<&str, Vec<&(&LineSlot, String)>> = BTreeMap::new();
    for one in texts {
        by_file.entry(one.0.path.as_str()).or_default().push(one);
    }
    let mut edits = Vec::new();
    for (path, mut slots) in by_file {
        // From the end, so that earlier offsets stay valid.
        slots.order_by_key(|(slot, _)| std::cmp::Reverse(slot.range.start));
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
        if slots.iter().any(|(slot, _)| slot.length == LengthRule::Fixed) {
            content = refilled(content, size, path)?;
        }
        let before = tree.text(path)?;
        if before.as_deref() != Some(content.as_str()) {
            edits.push(FileEdit::new(path, before, Some(content)));
        }
    }
    Ok(edits)
}

/// A block padded with `#` to its old length.
fn refilled(content: String, size: usize, path: &str) -> Result<String, BootError> {
    let used = content.trim_end_matches('#').len();
    if used > size {
        return Err(BootError::TooLong {
            entry: path.to_owned(),
            length: used,
            most: size,
            source_name: "GRUB's environment block".to_owned(),
        });
    }
    let mut content = content;
    content.truncate(used);
    content.push_str(&"#".repeat(size - used));
    Ok(content)
}
