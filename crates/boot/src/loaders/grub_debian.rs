//! Supports GRUB on Debian and Ubuntu: a snippet of our own in `/etc/default/grub.d`, which `update-grub` reads after
//! `/etc/default/grub`. Files of others change only to remove a word that ours replaces.

use super::grub::{self, ALL, DEFAULTS, Generator, NORMAL, Tools};
use super::{Entry, Fallback, Loader, Source, grub_cfg, proxmox};
use crate::line::{Gather, Line, Slot};
use crate::shell::assignments;
use crate::tools::{Run, first_of};
use crate::tree::{self, Tree};
use crate::trial::{OneBoot, Trial, TrialWork};
use crate::{BootError, Writing};
use machine::cmdline::words;

const SNIPPETS: &str = "/etc/default/grub.d";

/// Sorts last by name: a later snippet could drop its words.
const OURS: &str = "/etc/default/grub.d/zz-quietcore.cfg";

const CFG: &str = "/boot/grub/grub.cfg";

/// GRUB on Debian and Ubuntu.
pub static LOADER: Loader = Loader {
    name: "grub-debian",
    about: "GRUB with /etc/default/grub.d and update-grub (Debian, Ubuntu and theirs)",
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

fn find(tree: &dyn Tree) -> Option<String> {
    let there = tree::is_there(tree, DEFAULTS) && tree::is_there(tree, CFG);
    (there && reads_snippets(tree)).then(|| format!("{DEFAULTS} and {CFG}"))
}

/// Whether `grub-mkconfig` reads the snippets: it does on Debian and Ubuntu, because of a distribution patch.
pub fn reads_snippets(tree: &dyn Tree) -> bool {
    tree::is_there(tree, "/usr/sbin/update-grub") || tree::is_there(tree, "/etc/debian_version")
}

/// The files that are read, in order.
fn files(tree: &dyn Tree) -> Vec<String> {
    let names = tree.names(SNIPPETS).into_iter();
    // `*.cfg` does not match hidden files.
    let snippets = names
        .filter(|name| name.ends_with(".cfg") && !name.starts_with('.'))
        .map(|name| format!("{SNIPPETS}/{name}"));
    std::iter::once(DEFAULTS.to_owned()).chain(snippets).collect()
}

/// The same files without ours.
fn others(tree: &dyn Tree) -> Vec<String> {
    let mut files = files(tree);
    files.retain(|path| path != OURS);
    files
}

fn source(tree: &dyn Tree) -> Source {
    generator(tree).source(tree)
}

fn refuses(tree: &dyn Tree, words: &[String]) -> Option<BootError> {
    proxmox::owns_grub(tree, words).or_else(|| generator(tree).refuses(tree, words))
}

fn generator(tree: &dyn Tree) -> Generator {
    Generator {
        files: files(tree),
        cfg: CFG.to_owned(),
        tool: "update-grub",
    }
}

/// Snippets that a `grub-mkconfig` without Debian's patch ignores, with the words that reach no entry.
pub fn unread(tree: &dyn Tree) -> Option<String> {
    if reads_snippets(tree) {
        return None;
    }
    let mut found = Vec::new();
    for path in files(tree).iter().filter(|path| *path != DEFAULTS) {
        let text = tree::look(tree, path)?;
        let words: Vec<String> = assignments(&text)
            .into_iter()
            .filter(|one| [ALL, NORMAL].contains(&one.name.as_str()))
            .flat_map(|one| {
                let raw = &text[one.range.clone()];
                let value = one
                    .writing
                    .map_or_else(|| raw.to_owned(), |writing| writing.read(raw));
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
            "nothing reads {}: grub.d/*.cfg is an addition of Debian's grub-mkconfig, so these words reach no entry; put them on \
             the line with `quietcore boot set --params`",
            found.join(", ")
        )
    })
}

fn lines(tree: &dyn Tree) -> Result<Vec<Line>, BootError> {
    let mut slots = grub::places(tree, &others(tree))?;
    slots.push(own(tree)?);
    let mut files = files(tree);
    if !files.iter().any(|path| path == OURS) {
        files.push(OURS.to_owned());
    }
    Ok(vec![Line {
        name: "normal entries".to_owned(),
        home: slots.len() - 1,
        slots,
        gather: Gather::AtHome,
        shell: Some(grub::shell_line(files)),
    }])
}

/// The slot in our snippet, whether or not the file exists.
fn own(tree: &dyn Tree) -> Result<Slot, BootError> {
    let head = format!("# Written by quietcore: `quietcore boot clear` removes it.\n{NORMAL}=\"");
    let value = format!("${NORMAL}");
    let template = format!("{head}{value}\"\n");
    let written = match tree::text(tree, OURS)? {
        Some(_) => grub::places(tree, &[OURS.to_owned()])?.pop(),
        None => None,
    };
    let slot = written.unwrap_or_else(|| {
        Slot::new(
            OURS,
            NORMAL,
            head.len()..head.len() + value.len(),
            Writing::DoubleQuoted,
        )
    });
    if tree::is_there(tree, OURS) && slot.key != NORMAL {
        return Err(BootError::NoPlace {
            path: OURS.to_owned(),
            why: format!("it does not set {NORMAL} once"),
            next: "remove this file, then try again".to_owned(),
        });
    }
    Ok(Slot {
        template: Some(template),
        ..slot
    })
}

fn entries(tree: &dyn Tree) -> Vec<Entry> {
    grub_cfg::entries(tree, CFG)
}

fn update(tree: &dyn Tree) -> Result<Run, BootError> {
    first_of(tree, &[("update-grub", &[]), ("grub-mkconfig", &["-o", CFG])])
}

fn fallback(tree: &dyn Tree) -> Result<Fallback, BootError> {
    grub::fallback(tree, &others(tree), CFG)
}

fn trial(tree: &dyn Tree, wanted: &OneBoot) -> Result<TrialWork, BootError> {
    let tools = Tools {
        make: update,
        reboot: "grub-reboot",
    };
    grub::trial(tree, &files(tree), CFG, wanted, tools)
}
