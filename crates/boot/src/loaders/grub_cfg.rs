//! Parses the entries of a generated `grub.cfg`.

use super::BootEntry;
use crate::releases::is_rescue_line;
use crate::tree::FileTree;

/// The directory of the scripts that `grub-mkconfig` runs.
pub const SCRIPT_DIR: &str = "/etc/grub.d";

/// The normal entries of the distribution's own script.
pub fn own_entries(tree: &dyn FileTree, path: &str) -> Vec<BootEntry> {
    let text = tree.read_text(path).unwrap_or_default();
    let entries = started_in(&own_section(&text), path).into_iter();
    entries.map(|(entry, _)| entry).filter(is_distributions).collect()
}

/// Whether an entry is a normal one of the distribution's own script.
pub fn is_distributions(entry: &BootEntry) -> bool {
    !is_rescue(entry) && !entry.id.starts_with("quietcore-") && !entry.id.starts_with("osprober-")
}

/// Whether an entry is for rescue.
pub fn is_rescue(entry: &BootEntry) -> bool {
    entry.title.contains("recovery mode") || is_rescue_line(&entry.line)
}

/// The entries of a `grub.cfg`: the text after `linux` and the path of the kernel.
pub fn entries(tree: &dyn FileTree, path: &str) -> Vec<BootEntry> {
    let started = started(tree, path).into_iter();
    started.map(|(entry, _)| entry).collect()
}

/// The entries of a `grub.cfg` with the paths of their kernels, as GRUB sees them.
pub fn started(tree: &dyn FileTree, path: &str) -> Vec<(BootEntry, String)> {
    started_in(&tree.read_text(path).unwrap_or_default(), path)
}

fn started_in(text: &str, path: &str) -> Vec<(BootEntry, String)> {
    let mut found: Vec<(BootEntry, String)> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("menuentry ") {
            let title = quoted(line).unwrap_or_default();
            let id = ["$menuentry_id_option ", "--id ", "--id="].iter().find_map(|word| {
                let (_, rest) = line.split_once(word)?;
                quoted(rest).or_else(|| rest.split([' ', '{']).next().map(str::to_owned))
            });
            open = Some((id.unwrap_or_else(|| title.clone()), title));
            continue;
        }
        let mut parts = line.splitn(3, [' ', '\t']);
        let is_kernel = matches!(parts.next(), Some("linux" | "linux16" | "linuxefi"));
        if let (true, Some((id, title))) = (is_kernel, open.clone()) {
            let kernel = parts.next().unwrap_or_default().to_owned();
            let entry = BootEntry {
                id,
                title,
                path: path.to_owned(),
                line: parts.next().unwrap_or_default().trim().to_owned(),
            };
            found.push((entry, kernel));
            open = None;
        }
    }
    found
}

/// The text in the first quotes.
fn quoted(text: &str) -> Option<String> {
    let at = text.find(['\'', '"'])?;
    let quote = text[at..].chars().next()?;
    let inside = &text[at + 1..];
    inside.find(quote).map(|end| inside[..end].to_owned())
}

/// The part of a `grub.cfg` that the distribution's own script wrote, between its markers; else all of it. Entries
/// of other scripts do not come from the two variables.
fn own_section(text: &str) -> String {
    let mut found = String::new();
    let mut is_inside = false;
    for line in text.split_inclusive('\n') {
        let is_own = line.contains(&format!("{SCRIPT_DIR}/10_linux"));
        if is_own && line.starts_with("### BEGIN ") {
            is_inside = true;
        } else if line.starts_with("### END ") {
            is_inside = false;
        } else if is_inside {
            found.push_str(line);
        }
    }
    match found.is_empty() {
        true => text.to_owned(),
        false => found,
    }
}
