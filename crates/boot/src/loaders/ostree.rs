//! Supports image-based systems with `rpm-ostree`: the tool owns the line and creates a new deployment with it. The running
//! deployment stays as the entry to return to. The entry files only display the line.

use super::{BootEntry, Fallback, LineAuthor, Loader, LoaderAdditions, WordChange};
use crate::BootError;
use crate::loaders::bls;
use crate::tools::{ToolRun, first_of};
use crate::tree::FileTree;
use crate::trial::Trial;

const ENTRIES: &str = "/boot/loader/entries";

/// ostree.
pub static LOADER: Loader = Loader {
    name: "ostree",
    about: "an image-based system whose boot line `rpm-ostree kargs` manages (Fedora CoreOS, Silverblue, IoT, RHEL for \
         Edge)",
    find,
    lines: |tree| {
        files(tree)
            .first()
            .map(|path| bls::line(tree, path))
            .into_iter()
            .collect()
    },
    entries,
    commit,
    fallback: |_| {
        Ok(Fallback::Stays(
            "the running deployment (`rpm-ostree rollback`)".to_owned(),
        ))
    },
    trial: Trial::Cannot {
        why: "rpm-ostree makes the new deployment the default",
        next: "use `boot set`: the running deployment stays in the menu, and `rpm-ostree rollback` returns to it",
    },
    line_writer: LineAuthor::Tool,
    adds: LoaderAdditions::These(&["ostree"]),
    remarks: |_| vec!["rpm-ostree writes the line; the next deployment would lose edits of the entry files".to_owned()],
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let path = files(tree).into_iter().next()?;
    Some(path)
}

/// Entries of deployments; the default one has the highest number.
fn files(tree: &dyn FileTree) -> Vec<String> {
    let mut files = bls::files(tree, ENTRIES);
    files.retain(|path| path.contains("/ostree-"));
    files.reverse();
    files
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    files(tree).iter().filter_map(|path| bls::entry(tree, path)).collect()
}

fn commit(tree: &dyn FileTree, turn: &WordChange) -> Result<Vec<ToolRun>, BootError> {
    let removed = turn.removed.iter().map(|word| format!("--delete-if-present={word}"));
    let new = turn.new.iter().map(|word| format!("--append-if-missing={word}"));
    let arguments: Vec<String> = std::iter::once("kargs".to_owned()).chain(removed).chain(new).collect();
    if arguments.len() == 1 {
        return Ok(Vec::new());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Ok(vec![first_of(tree, &[("rpm-ostree", &arguments)])?])
}
