//! Supports Alpine: `update-extlinux` generates `extlinux.conf` from `/etc/update-extlinux.conf`.

use super::{EntrySource, Fallback, Loader, LoaderAdditions, extlinux, variable};
use crate::BootError;
use crate::line::EntryLine;
use crate::tools::first_of;
use crate::tree::FileTree;
use crate::trial::Trial;

const SOURCE: &str = "/etc/update-extlinux.conf";
const OPTIONS: &str = "default_kernel_opts";

/// update-extlinux.
pub static LOADER: Loader = Loader {
    name: "update-extlinux",
    about: "extlinux with /etc/update-extlinux.conf (Alpine)",
    find,
    lines,
    entries: extlinux::entries,
    commit: |tree, _| Ok(vec![first_of(tree, &[("update-extlinux", &[])])?]),
    fallback: |_| {
        Ok(Fallback::none(
            "update-extlinux gives all entries the same line",
            "add --force if you can use the console: the Tab key lets you remove parameters there",
        ))
    },
    trial: Trial::Cannot {
        why: "extlinux cannot select an entry of its file for one boot",
        next: "use `boot set --force` if you can use the console: the Tab key lets you remove parameters there",
    },
    source: |tree| EntrySource::Settings {
        files: SOURCE.to_owned(),
        place: format!("{OPTIONS} in {SOURCE}"),
        tool: "update-extlinux".to_owned(),
        generated: extlinux::place(tree).unwrap_or_default().to_owned(),
        entries: extlinux::entries(tree),
        by_tool: Vec::new(),
    },
    adds: LoaderAdditions::These(&["console"]),
    refuses,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let path = extlinux::place(tree)?;
    tree.is_there(SOURCE).then(|| format!("{SOURCE} and {path}"))
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    Ok(vec![variable::shell(tree, SOURCE, OPTIONS, "")?])
}

fn refuses(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    variable::refuses(
        lines(tree),
        tree,
        words,
        &format!("{OPTIONS} in {SOURCE}"),
        "update-extlinux",
    )
}
