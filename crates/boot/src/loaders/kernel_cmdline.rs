//! `/etc/kernel/cmdline`: the boot line that tools give to the entries or images that they make. `kernel-install`, `ukify` and
//! `mkinitcpio` put all its lines together (systemd's `90-loaderentry.install`: `tr -s "$IFS" ' '`). Other tools write it
//! into an entry as it is, where a second line is no part of the boot line.

use crate::line::{Gather, Line, Slot};
use crate::tree::{self, Tree};
use crate::{BootError, Writing};
use machine::cmdline::words;
use std::ops::Range;

/// The file.
pub const PATH: &str = "/etc/kernel/cmdline";

/// Which lines of the file a tool puts on the boot line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    AllLines,
    /// The first.
    FirstLine,
}

/// The line, under a name for people; `None` where the machine has no such file.
///
/// # Errors
/// A file that is no text.
pub fn line(tree: &dyn Tree, name: &str, extent: Extent) -> Result<Option<Line>, BootError> {
    let path = tree::resolved(tree, PATH);
    let Some(text) = tree::text(tree, &path)? else {
        return Ok(None);
    };
    let mut ranges = match extent {
        Extent::AllLines => filled_lines(&text),
        Extent::FirstLine => vec![(1, 0..text.find(['\n', '\r']).unwrap_or(text.len()))],
    };
    // New words go to the last one.
    let (_, last) = ranges.pop().unwrap_or((1, 0..0));
    let former = ranges
        .into_iter()
        .map(|(number, range)| Slot::new(&path, format!("line {number}"), range, Writing::Plain));
    let mut slots: Vec<Slot> = former.collect();
    slots.push(Slot::new(&path, "line", last, Writing::Plain));
    Ok(Some(Line {
        name: name.to_owned(),
        home: slots.len() - 1,
        slots,
        gather: Gather::InPlace,
        shell: None,
    }))
}

/// Words behind the first line, where a tool writes the file into an entry as it is.
#[must_use]
pub fn lost(tree: &dyn Tree, tool: &str) -> Option<String> {
    let text = tree::look(tree, PATH)?;
    let (_, rest) = text.split_once('\n')?;
    let rest: Vec<&str> = words(rest).collect();
    (!rest.is_empty()).then(|| {
        format!(
            "`{tool}` puts only the first line of {PATH} on the boot line, so these words do not reach the kernel: {}",
            rest.join(" ")
        )
    })
}

/// The lines with words: their numbers from 1 and their bytes.
fn filled_lines(text: &str) -> Vec<(usize, Range<usize>)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (number, whole) in text.split_inclusive('\n').enumerate() {
        let line = whole.trim_end_matches(['\n', '\r']);
        if !line.trim().is_empty() {
            found.push((number + 1, at..at + line.len()));
        }
        at += whole.len();
    }
    found
}
