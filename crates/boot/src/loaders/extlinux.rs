//! Supports syslinux and extlinux, and U-Boot with a manually written `extlinux.conf`: each label has its own line.

use super::extlinux_conf::{self, copy, is_rescue, labels};
use super::{BootEntry, Fallback, Loader, WordSupport};
use crate::BootError;
use crate::line::EntryLine;
use crate::tree::FileTree;
use crate::trial::Trial;

const PLACES: &[&str] = &[
    "/boot/extlinux/extlinux.conf",
    "/boot/extlinux.conf",
    "/boot/syslinux/syslinux.cfg",
    "/boot/syslinux.cfg",
];

/// Files from which a tool regenerates `extlinux.conf`.
pub const SOURCES: &[&str] = &["/etc/default/u-boot", "/etc/update-extlinux.conf"];

/// extlinux and syslinux.
pub static LOADER: Loader = Loader {
    name: "extlinux",
    about: "extlinux or syslinux, or U-Boot with extlinux.conf",
    find,
    lines,
    entries,
    fallback,
    trial: Trial::Cannot {
        why: "U-Boot and syslinux cannot select an entry of this file for one boot",
        next: "use `boot set`, which keeps a second label with the present boot line: choose it on the console if the \
             first does not start",
    },
    words: WordSupport::Any,
    ..Loader::PLAIN
};

/// The first existing path of the file.
pub fn place(tree: &dyn FileTree) -> Option<&'static str> {
    PLACES.iter().copied().find(|path| tree.is_there(path))
}

fn find(tree: &dyn FileTree) -> Option<String> {
    let generated = SOURCES.iter().any(|path| tree.is_there(path));
    let path = place(tree).filter(|_| !generated)?;
    Some(path.to_owned())
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    place(tree).map_or(Ok(Vec::new()), |path| extlinux_conf::lines(tree, path))
}

/// The labels of the file that the loader reads, regardless of its author.
pub fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    place(tree)
        .map(|path| extlinux_conf::entries(tree, path))
        .unwrap_or_default()
}

fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    let none = || Fallback::none("there is no label with an `append` line", "look at extlinux.conf");
    let Some(path) = place(tree) else {
        return Ok(none());
    };
    let text = tree.read_text(path).unwrap_or_default();
    if let Some(label) = labels(&text).iter().find(|label| is_rescue(&text, label)) {
        return Ok(Fallback::Stays(format!("`{}`", label.title)));
    }
    Ok(match copy(tree, path)? {
        Some(edit) => Fallback::Made(vec![edit], "label quietcore-before".to_owned()),
        None => none(),
    })
}
