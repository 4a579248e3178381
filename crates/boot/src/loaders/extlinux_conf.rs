//! Parses `extlinux.conf`, as syslinux, U-Boot and others read it: labels with an `append` line each.

use super::BootEntry;
use crate::blocks::with_block;
use crate::line::{EntryLine, LineSlot};
use crate::tree::FileTree;
use crate::{BootError, FileEdit, TextEncoding};
use machine::cmdline::words;
use std::ops::Range;

/// An entry of the menu: a `label` and its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The position of its `append` line.
    pub append: Option<Range<usize>>,
    /// The whole block, from its `label` to the next one.
    pub block: Range<usize>,
}

/// Prefix of our own labels.
const LABEL_PREFIX: &str = "quietcore-";

/// The labels of a file, in order, without ours.
pub fn labels(text: &str) -> Vec<Label> {
    let mut found: Vec<Label> = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let bare = line.trim_start();
        let (key, value) = bare.split_once([' ', '\t']).unwrap_or((bare, ""));
        let value = value.trim_start();
        let end = at + line.len();
        match (key.to_ascii_lowercase().as_str(), found.last_mut()) {
            ("label", _) => found.push(Label {
                name: value.trim_end().to_owned(),
                title: value.trim_end().to_owned(),
                append: None,
                block: at..at,
            }),
            ("append", Some(label)) => label.append = Some(end - value.len()..end),
            ("menu", Some(label)) if value.to_ascii_lowercase().starts_with("label ") => {
                label.title = value["label ".len()..].trim().replace('^', "");
            }
            _ => {}
        }
        at += whole.len();
        // A comment before the next label is not part of this one.
        if let Some(label) = found.last_mut()
            && !bare.is_empty()
            && !bare.starts_with('#')
        {
            label.block.end = at;
        }
    }
    found.retain(|label| !label.name.starts_with(LABEL_PREFIX));
    found
}

/// Whether a label is for rescue; such a label is left unchanged.
pub fn is_rescue(text: &str, label: &Label) -> bool {
    let line = label.append.clone().map_or("", |range| &text[range]);
    words(line).any(|word| matches!(word, "single" | "systemd.unit=rescue.target"))
}

/// The lines of all labels except rescue labels.
///
/// # Errors
/// A file that is not text.
pub fn lines(tree: &dyn FileTree, path: &str) -> Result<Vec<EntryLine>, BootError> {
    let (path, text) = tree.resolved_text(path)?;
    let labels = labels(&text).into_iter().filter(|label| !is_rescue(&text, label));
    let lines = labels.filter_map(|label| {
        let slot = LineSlot::new(
            &path,
            format!("append of {}", label.name),
            label.append?,
            TextEncoding::Plain,
        );
        Some(EntryLine::of(label.title, slot))
    });
    Ok(lines.collect())
}

/// The entries that the file offers.
pub fn entries(tree: &dyn FileTree, path: &str) -> Vec<BootEntry> {
    let text = tree.read_text(path).unwrap_or_default();
    let entry = |label: Label| BootEntry {
        id: label.name,
        title: label.title,
        path: path.to_owned(),
        line: label
            .append
            .map(|range| text[range].trim().to_owned())
            .unwrap_or_default(),
    };
    labels(&text).into_iter().map(entry).collect()
}

/// Copies the first label to the end of the file, with its line unchanged.
///
/// # Errors
/// A file that is not text.
pub fn copy(tree: &dyn FileTree, path: &str) -> Result<Option<FileEdit>, BootError> {
    let (path, text) = tree.resolved_text(path)?;
    let Some(label) = labels(&text).into_iter().find(|label| label.append.is_some()) else {
        return Ok(None);
    };
    let mut block = String::new();
    for line in text[label.block].split_inclusive('\n') {
        let lower = line.trim_start().to_ascii_lowercase();
        if lower.starts_with("label") {
            block.push_str(&format!("label {LABEL_PREFIX}before\n"));
        } else if lower.starts_with("menu label") {
            block.push_str("\tmenu label before quietcore\n");
        } else if !lower.starts_with("menu default") {
            block.push_str(line.trim_end());
            block.push('\n');
        }
    }
    let after = with_block(&text, &block);
    Ok(Some(FileEdit::new(path, Some(text), Some(after))))
}
