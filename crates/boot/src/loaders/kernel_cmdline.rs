//! Reads `/etc/kernel/cmdline`: the boot line for entries or images that tools generate. `kernel-install`, `ukify` and
//! `mkinitcpio` join all its lines (systemd's `90-loaderentry.install`: `tr -s "$IFS" ' '`). Other tools write it
//! into an entry unchanged, and a second line is not part of the boot line there.

use crate::line::{EntryLine, LineSlot};
use crate::tree::FileTree;
use crate::{BootError, TextEncoding};
use machine::cmdline::words;

/// The file.
pub const PATH: &str = "/etc/kernel/cmdline";

/// Which lines of the file a tool uses for the boot line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    AllLines,
    /// The first.
    FirstLine,
}

/// The line, with a display name; `None` if the machine has no such file.
///
/// # Errors
/// A file that is not text.
pub fn line(tree: &dyn FileTree, name: &str, extent: Extent) -> Result<Option<EntryLine>, BootError> {
    let path = tree.resolved(PATH);
    let Some(text) = tree.text(&path)? else {
        return Ok(None);
    };
    let range = match extent {
        // Line ends are blanks between words, and new words go after the last one.
        Extent::AllLines => 0..text.trim_end_matches(['\n', '\r']).len(),
        Extent::FirstLine => 0..text.find(['\n', '\r']).unwrap_or(text.len()),
    };
    let slot = LineSlot::new(path, "line", range, TextEncoding::Plain);
    Ok(Some(EntryLine::of(name, slot)))
}

/// Words after the first line, if a tool writes the file into an entry unchanged.
pub fn lost(tree: &dyn FileTree, tool: &str) -> Option<String> {
    let text = tree.read_text(PATH)?;
    let (_, rest) = text.split_once('\n')?;
    let rest: Vec<&str> = words(rest).collect();
    (!rest.is_empty()).then(|| {
        format!(
            "`{tool}` puts only the first line of {PATH} on the boot line, so these parameters do not reach the \
             kernel: {}",
            rest.join(" ")
        )
    })
}
