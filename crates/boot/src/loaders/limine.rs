//! Limine: `cmdline:` of an entry in `limine.conf` is the boot line (its CONFIG.md). Tools of distributions write that file
//! again, and Limine has no entry for one boot, so the file is shown and not edited.

use super::shown::{self, Shown};
use super::{
    Adds, Entry, Fallback, Keeper, Loader, Words, entries_as_they_are, evidence, no_remarks, nothing_to_run,
};
use crate::line::Line;
use crate::tree::{self, Tree};
use crate::trial::{OneBoot, Trial, TrialWork};
use crate::{BootError, merge};

/// Where Limine looks for its file, on the partitions that are mounted here.
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

/// Today's name, and the one before version 8, whose assignments have `=` in place of `:`.
const NAMES: &[&str] = &["limine.conf", "limine.cfg"];

/// Where `limine-entry-tool` and `limine-mkinitcpio-hook` take the line from.
const DEFAULTS: &str = "/etc/default/limine";

/// Limine.
pub static LOADER: Loader = Loader {
    name: "limine",
    about: "Limine with limine.conf, which is shown and not edited",
    find,
    lines,
    entries,
    commit: nothing_to_run,
    fallback,
    trial: Trial::By(trial),
    words: Words::Any,
    keeper: Keeper::Files,
    efi_name: Some("limine"),
    source: entries_as_they_are,
    adds: Adds::These(&[]),
    remarks: no_remarks,
    refuses,
};

/// The file that is there.
pub(super) fn file(tree: &dyn Tree) -> Option<String> {
    let in_directory = |dir: &'static str| NAMES.iter().map(move |name| format!("{dir}/{name}"));
    let mut all = DIRECTORIES.iter().flat_map(|dir| in_directory(dir));
    all.find(|path| tree::is_there(tree, path))
}

fn find(tree: &dyn Tree) -> Option<String> {
    evidence::of_shown(tree, "limine", file(tree))
}

/// Every line with a boot line of Linux.
fn all(tree: &dyn Tree) -> Vec<Shown> {
    let Some(path) = file(tree) else {
        return Vec::new();
    };
    let text = tree::look(tree, &path).unwrap_or_default();
    let sign = if path.ends_with(".cfg") { '=' } else { ':' };
    let mut title = String::new();
    let mut found = Vec::new();
    for (number, range, line) in shown::lines(&text) {
        let bare = line.trim();
        if bare.starts_with(['/', ':']) {
            title = bare.trim_start_matches(['/', ':', '+', ' ']).to_owned();
        } else if let Some((key, value)) = bare.split_once(sign)
            && ["cmdline", "kernel_cmdline"].contains(&key.trim().to_ascii_lowercase().as_str())
        {
            let value = value.trim();
            let end = range.start + line.trim_end().len();
            found.push(Shown {
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

fn lines(tree: &dyn Tree) -> Result<Vec<Line>, BootError> {
    Ok(all(tree).iter().map(|one| one.line("cmdline")).collect())
}

fn entries(tree: &dyn Tree) -> Vec<Entry> {
    all(tree).into_iter().map(Shown::entry).collect()
}

fn fallback(_tree: &dyn Tree) -> Result<Fallback, BootError> {
    Ok(shown::no_fallback())
}

fn trial(tree: &dyn Tree, wanted: &OneBoot) -> Result<TrialWork, BootError> {
    Err(refusal(tree, &wanted.words))
}

fn refuses(tree: &dyn Tree, words: &[String]) -> Option<BootError> {
    Some(refusal(tree, words))
}

fn refusal(tree: &dyn Tree, words: &[String]) -> BootError {
    let path = file(tree);
    let by_tool = tree::is_there(tree, DEFAULTS);
    let next = match (by_tool, shown::started(tree, all(tree)), &path) {
        (true, _, _) => format!(
            "a tool writes Limine's file from {DEFAULTS}: add the line `KERNEL_CMDLINE[default]+=\" {}\"` there, then run \
             `limine-update`",
            shown::words(words)
        ),
        (false, Some(one), _) => {
            let key = one.written.strip_suffix(&one.text).unwrap_or_default().trim();
            let line = format!("{key} {}", merge::on_line(&one.text, words));
            format!(
                "add the words to `cmdline:` of the entry in {}: line {} ({}) becomes `{}`{}",
                one.path,
                one.number,
                one.title,
                line,
                shown::without_words(words)
            )
        }
        (false, None, Some(path)) => format!(
            "add `cmdline: {}` to the entry of Linux in {path}",
            shown::words(words)
        ),
        (false, None, None) => format!(
            "its limine.conf is on a partition that is not mounted here: add `{}` to `cmdline:` of the entry there",
            shown::words(words)
        ),
    };
    BootError::Shown {
        loader: "Limine".to_owned(),
        why: find(tree).unwrap_or_default(),
        next,
    }
}
