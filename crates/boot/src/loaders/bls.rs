//! Parses files of the Boot Loader Specification: one key and value per line, with any number of `options`.

use crate::line::{EntryLine, LineSlot, SlotChoice};
use crate::releases::{is_release, is_rescue_line, of_image};
use crate::tree::FileTree;
use crate::{BootEntry, BootError, FileEdit, TextEncoding};
use std::ops::Range;

/// The marker in the names of our own copies. A `~` sorts below the end of a name for systemd-boot and for
/// GRUB's `blscfg`, so that a copy sorts after its original and does not become the default.
pub const COPY: &str = "~quietcore-";

/// One line of an entry file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlsField {
    /// The key, as written.
    pub key: String,
    /// Its value, without leading blanks and the line end, in bytes.
    pub range: Range<usize>,
}

/// The keys and values of an entry file, without comments and keys that have no value.
pub fn fields(text: &str) -> Vec<BlsField> {
    let mut found = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let bare = line.trim_start_matches([' ', '\t']);
        let length = bare.find([' ', '\t']).unwrap_or(bare.len());
        let value = bare[length..].trim_start_matches([' ', '\t']);
        if !bare.starts_with('#') && length > 0 {
            let end = at + line.len();
            found.push(BlsField {
                key: bare[..length].to_owned(),
                range: end - value.len()..end,
            });
        }
        at += whole.len();
    }
    found
}

/// The last value of a key; all `options` are joined.
pub fn value(text: &str, key: &str) -> Option<String> {
    let all: Vec<&str> = fields(text)
        .into_iter()
        .filter(|field| field.key == key)
        .map(|field| text[field.range].trim_end())
        .collect();
    match key {
        "options" => (!all.is_empty()).then(|| all.join(" ")),
        _ => all.last().map(ToString::to_string),
    }
}

/// Paths of the entry files in a directory, without our own copies.
pub fn files(tree: &dyn FileTree, dir: &str) -> Vec<String> {
    let names = tree.names(dir).into_iter();
    names
        .filter(|name| name.ends_with(".conf") && !name.contains(COPY))
        .map(|name| format!("{dir}/{name}"))
        .collect()
}

/// The line of an entry file. An entry without `options` gets a slot for them at its end.
///
/// # Errors
/// A file that is not text.
pub fn line(tree: &dyn FileTree, path: &str) -> Result<EntryLine, BootError> {
    let (path, text) = tree.resolved_text(path)?;
    let mut slots = Vec::new();
    for field in fields(&text).into_iter().filter(|field| field.key == "options") {
        let key = match slots.len() {
            0 => "options".to_owned(),
            number => format!("options {}", number + 1),
        };
        slots.push(LineSlot::new(&path, key, field.range, TextEncoding::Plain));
    }
    if slots.is_empty() {
        return Err(BootError::no_place(
            path,
            "it has no line that starts with `options`",
            "add one: `options root=...`, then try again",
        ));
    }
    Ok(EntryLine {
        name: value(&text, "title").unwrap_or_else(|| name(&path).to_owned()),
        new_word_slot: slots.len() - 1,
        slots,
        gather: SlotChoice::InPlace,
        shell: None,
    })
}

/// What an entry file offers.
pub fn entry(tree: &dyn FileTree, path: &str) -> Option<BootEntry> {
    let text = tree.read_text(path)?;
    let id = name(path).to_owned();
    Some(BootEntry {
        title: value(&text, "title").unwrap_or_else(|| id.clone()),
        id,
        path: path.to_owned(),
        line: value(&text, "options").unwrap_or_default(),
    })
}

/// The release that an entry file starts: its `version`, else the release in its kernel's path. `None` for a rescue entry, and
/// if neither has one.
pub fn release(tree: &dyn FileTree, path: &str) -> Option<String> {
    let text = tree.read_text(path)?;
    let (kernel, options) = (value(&text, "linux")?, value(&text, "options").unwrap_or_default());
    if name(path).contains("rescue") || is_rescue_line(&options) {
        return None;
    }
    let version = value(&text, "version").filter(|version| is_release(version));
    version.or_else(|| of_image(&kernel).map(str::to_owned))
}

/// Copies an entry file under another name and title, optionally with another line.
///
/// # Errors
/// A file that is not text.
pub fn copy(tree: &dyn FileTree, path: &str, what: &str, line: Option<&str>) -> Result<FileEdit, BootError> {
    let text = tree.text(path)?.unwrap_or_default();
    let mut made = String::new();
    let mut options = line;
    for whole in text.split_inclusive('\n') {
        match fields(whole)
            .first()
            .map(|field| (field.key.as_str(), &whole[field.range.clone()]))
        {
            Some(("title", title)) => made.push_str(&format!("title {title} ({})\n", copy_title(what))),
            Some(("options", _)) if line.is_some() => {
                if let Some(line) = options.take() {
                    made.push_str(&format!("options {line}\n"));
                }
            }
            _ => made.push_str(whole),
        }
    }
    let to = copy_path(path, what);
    Ok(FileEdit::new(&to, tree.text(&to)?, Some(made)))
}

/// The marker in the title of a copy.
fn copy_title(what: &str) -> String {
    match what {
        "before" => "before quietcore".to_owned(),
        what => format!("quietcore {what}"),
    }
}

/// The path of a copy: the name without boot counters (`+3-0`), our marker, the kind.
pub fn copy_path(path: &str, what: &str) -> String {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".conf").unwrap_or(name);
    let stem = match stem.rsplit_once('+') {
        Some((stem, count)) if count.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => stem,
        _ => stem,
    };
    format!("{dir}/{stem}{COPY}{what}.conf")
}

/// The name of a file in its directory.
pub fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_bls_entries_are_located_exactly() {
        let text = "# c\r\ntitle   A b \r\n options a  b\r\noptions\tc\nlinux /v\nempty\noptions d";
        assert_eq!(value(text, "title").as_deref(), Some("A b"));
        assert_eq!(value(text, "options").as_deref(), Some("a  b c d"));
        let fields = fields(text);
        let seen: Vec<(&str, &str)> = fields
            .iter()
            .map(|one| (one.key.as_str(), &text[one.range.clone()]))
            .collect();
        assert_eq!(seen[0], ("title", "A b "));
        assert_eq!(seen[4], ("empty", ""));
    }

    #[test]
    fn a_copy_has_no_boot_counter() {
        assert_eq!(copy_path("/e/a+3-1.conf", "trial"), "/e/a~quietcore-trial.conf");
        assert_eq!(copy_path("/e/a+b.conf", "trial"), "/e/a+b~quietcore-trial.conf");
    }
}
