//! Supports Limine: `cmdline:` of an entry in `limine.conf` is the boot line (its CONFIG.md). Tools of distributions
//! regenerate that file, and Limine has no one-shot entry, so the file is displayed but not edited.

use super::file_line::{self, FileLine};
use super::{Loader, evidence};
use crate::tree::FileTree;
use crate::trial::Trial;
use crate::{BootError, merge};

/// Paths in which Limine searches for its file, on the partitions that are mounted here.
const DIRECTORIES: &[&str] = &[
    "/boot",
    "/boot/limine",
    "/boot/EFI/BOOT",
    "/boot/EFI/limine",
    "/boot/efi",
    "/boot/efi/limine",
    "/boot/efi/EFI/BOOT",
    "/boot/efi/EFI/limine",
    "/efi",
    "/efi/limine",
    "/efi/EFI/BOOT",
    "/efi/EFI/limine",
];

/// The current name, and the one before version 8, whose assignments use `=` instead of `:`.
const NAMES: &[&str] = &["limine.conf", "limine.cfg"];

/// Files from which `limine-entry-tool` and `limine-mkinitcpio-hook` take the line.
const DEFAULTS: &str = "/etc/default/limine";

/// Limine.
pub static LOADER: Loader = Loader {
    name: "limine",
    about: "Limine with limine.conf, which quietcore reads and does not edit",
    find: |tree| evidence::of_display_only(tree, "limine", file(tree)),
    lines: |tree| Ok(all(tree).iter().map(|one| one.line("cmdline")).collect()),
    entries: |tree| all(tree).into_iter().map(FileLine::entry).collect(),
    trial: Trial::By(|tree, one_boot| Err(refusal(tree, &one_boot.words))),
    efi_name: Some("limine"),
    refuses: |tree, words| Some(refusal(tree, words)),
    ..file_line::DISPLAYED
};

/// The existing file.
pub(super) fn file(tree: &dyn FileTree) -> Option<String> {
    let in_directory = |dir: &'static str| NAMES.iter().map(move |name| format!("{dir}/{name}"));
    let mut all = DIRECTORIES.iter().flat_map(|dir| in_directory(dir));
    all.find(|path| tree.is_there(path))
}

/// Every line with a boot line of Linux.
fn all(tree: &dyn FileTree) -> Vec<FileLine> {
    let Some(path) = file(tree) else {
        return Vec::new();
    };
    let text = tree.read_text(&path).unwrap_or_default();
    let sign = if path.ends_with(".cfg") { '=' } else { ':' };
    let mut title = String::new();
    let mut found = Vec::new();
    for (number, range, line) in file_line::lines(&text) {
        let bare = line.trim();
        if bare.starts_with(['/', ':']) {
            title = bare.trim_start_matches(['/', ':', '+', ' ']).to_owned();
        } else if let Some((key, value)) = bare.split_once(sign)
            && ["cmdline", "kernel_cmdline"].contains(&key.trim().to_ascii_lowercase().as_str())
        {
            let value = value.trim();
            let end = range.start + line.trim_end().len();
            found.push(FileLine {
                path: path.clone(),
                number,
                title: title.clone(),
                range: end - value.len()..end,
                written: line.trim_end().to_owned(),
                text: value.to_owned(),
            });
        }
    }
    found
}

fn refusal(tree: &dyn FileTree, words: &[String]) -> BootError {
    let path = file(tree);
    let by_tool = tree.is_there(DEFAULTS);
    let next = match (by_tool, file_line::started(tree, all(tree)), &path) {
        (true, _, _) => format!(
            "a tool writes Limine's file from {DEFAULTS}: add the line `KERNEL_CMDLINE[default]+=\" {}\"` there, then run \
             `limine-update`",
            file_line::words(words)
        ),
        (false, Some(one), _) => {
            let key = one.written.strip_suffix(&one.text).unwrap_or_default().trim();
            let line = format!("{key} {}", merge::on_line(&one.text, words));
            format!(
                "add the parameters to `cmdline:` of the entry in {}: line {} ({}) becomes `{}`{}",
                one.path,
                one.number,
                one.title,
                line,
                file_line::without_words(words)
            )
        }
        (false, None, Some(path)) => format!(
            "add `cmdline: {}` to the Linux entry in {path}",
            file_line::words(words)
        ),
        (false, None, None) => format!(
            "its limine.conf is on a partition that is not mounted here: add `{}` to `cmdline:` of the entry there",
            file_line::words(words)
        ),
    };
    BootError::DisplayOnly {
        loader: "Limine".to_owned(),
        why: (LOADER.find)(tree).unwrap_or_default(),
        next,
    }
}
