//! Supports GRUB on Debian and Ubuntu: a snippet of our own in `/etc/default/grub.d`, which `update-grub` reads after
//! `/etc/default/grub`. Files of others change only to remove a word that ours replaces.

use super::grub::{self, ALL, DEFAULTS, Generator, NORMAL, Tools};
use super::{BootEntry, EntrySource, Fallback, Loader, grub_cfg, proxmox};
use crate::line::{EntryLine, LineSlot, SlotChoice};
use crate::shell::assignments;
use crate::tools::{ToolRun, first_of};
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, Trial, TrialWork};
use crate::{BootError, TextEncoding};
use machine::cmdline::words;

const SNIPPETS: &str = "/etc/default/grub.d";

/// Sorts last by name: a later snippet could drop its words.
const OWN_SNIPPET: &str = "/etc/default/grub.d/zz-quietcore.cfg";

const CFG: &str = "/boot/grub/grub.cfg";

/// GRUB on Debian and Ubuntu.
pub static LOADER: Loader = Loader {
    name: "grub-debian",
    about: "GRUB with /etc/default/grub.d and update-grub (Debian, Ubuntu and derivatives)",
    find,
    lines,
    entries,
    commit: |tree, _| Ok(vec![update(tree)?]),
    fallback,
    trial: Trial::By(trial),
    efi_name: Some("grub"),
    source,
    remarks: |tree| grub::dropped(tree, &others(tree)),
    refuses,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let there = tree.is_there(DEFAULTS) && tree.is_there(CFG);
    (there && reads_snippets(tree)).then(|| format!("{DEFAULTS} and {CFG}"))
}

/// Whether `grub-mkconfig` reads the snippets: it does on Debian and Ubuntu, because of a distribution patch.
pub fn reads_snippets(tree: &dyn FileTree) -> bool {
    tree.is_there("/usr/sbin/update-grub") || tree.is_there("/etc/debian_version")
}

/// The files that are read, in order.
fn files(tree: &dyn FileTree) -> Vec<String> {
    let names = tree.names(SNIPPETS).into_iter();
    // `*.cfg` does not match hidden files.
    let snippets = names
        .filter(|name| name.ends_with(".cfg") && !name.starts_with('.'))
        .map(|name| format!("{SNIPPETS}/{name}"));
    std::iter::once(DEFAULTS.to_owned()).chain(snippets).collect()
}

/// The same files without ours.
fn others(tree: &dyn FileTree) -> Vec<String> {
    let mut files = files(tree);
    files.retain(|path| path != OWN_SNIPPET);
    files
}

fn source(tree: &dyn FileTree) -> EntrySource {
    generator(tree).source(tree)
}

fn refuses(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    proxmox::owns_grub(tree, words).or_else(|| generator(tree).refuses(tree, words))
}

fn generator(tree: &dyn FileTree) -> Generator {
    Generator {
        files: files(tree),
        cfg: CFG.to_owned(),
        tool: "update-grub",
    }
}

/// Snippets that a `grub-mkconfig` without Debian's patch ignores, with the words that reach no entry.
pub fn unread(tree: &dyn FileTree) -> Option<String> {
    if reads_snippets(tree) {
        return None;
    }
    let mut found = Vec::new();
    for path in files(tree).iter().filter(|path| *path != DEFAULTS) {
        let text = tree.read_text(path)?;
        let words: Vec<String> = assignments(&text)
            .into_iter()
            .filter(|one| [ALL, NORMAL].contains(&one.name.as_str()))
            .flat_map(|one| {
                let raw = &text[one.range.clone()];
                let value = one.writing.map_or_else(|| raw.to_owned(), |writing| writing.read(raw));
                words(&value).map(str::to_owned).collect::<Vec<_>>()
            })
            .filter(|word| !word.starts_with('$'))
            .collect();
        if !words.is_empty() {
            found.push(format!("{path} ({})", words.join(" ")));
        }
    }
    (!found.is_empty()).then(|| {
        format!(
            "nothing reads {}: grub.d/*.cfg is an addition of Debian's grub-mkconfig, so these parameters reach no \
             entry; add them to the line with `quietcore boot set --params`",
            found.join(", ")
        )
    })
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let mut slots = grub::places(tree, &others(tree))?;
    slots.push(own(tree)?);
    let mut files = files(tree);
    if !files.iter().any(|path| path == OWN_SNIPPET) {
        files.push(OWN_SNIPPET.to_owned());
    }
    Ok(vec![EntryLine {
        name: "normal entries".to_owned(),
        new_word_slot: slots.len() - 1,
        slots,
        gather: SlotChoice::NewWordSlot,
        shell: Some(grub::shell_line(files)),
    }])
}

/// The slot in our snippet, whether or not the file exists.
fn own(tree: &dyn FileTree) -> Result<LineSlot, BootError> {
    let head = format!("# Written by quietcore: `quietcore boot clear` removes it.\n{NORMAL}=\"");
    let value = format!("${NORMAL}");
    let template = format!("{head}{value}\"\n");
    let written = match tree.text(OWN_SNIPPET)? {
        Some(_) => grub::places(tree, &[OWN_SNIPPET.to_owned()])?.pop(),
        None => None,
    };
    let slot = written.unwrap_or_else(|| {
        LineSlot::new(
            OWN_SNIPPET,
            NORMAL,
            head.len()..head.len() + value.len(),
            TextEncoding::DoubleQuoted,
        )
    });
    if tree.is_there(OWN_SNIPPET) && slot.key != NORMAL {
        return Err(BootError::no_place(
            OWN_SNIPPET,
            format!("it does not set {NORMAL} exactly once"),
            "remove this file, then try again",
        ));
    }
    Ok(LineSlot {
        template: Some(template),
        ..slot
    })
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    grub_cfg::entries(tree, CFG)
}

fn update(tree: &dyn FileTree) -> Result<ToolRun, BootError> {
    first_of(tree, &[("update-grub", &[]), ("grub-mkconfig", &["-o", CFG])])
}

fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    grub::fallback(tree, &others(tree), CFG)
}

fn trial(tree: &dyn FileTree, one_boot: &OneShotEntry) -> Result<TrialWork, BootError> {
    let tools = Tools {
        make: update,
        reboot: "grub-reboot",
    };
    grub::trial(tree, &files(tree), CFG, one_boot, tools)
}
