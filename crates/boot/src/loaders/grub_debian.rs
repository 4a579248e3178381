//! GRUB as Debian and Ubuntu have it: a snippet of our own in `/etc/default/grub.d`, which `update-grub` reads after
//! `/etc/default/grub`. The files of others change only where a word has to go that ours takes the place of.

use super::grub::{self, DEFAULTS, NORMAL, Tools};
use super::{Entry, Fallback, Keeper, Loader, Turn, Words};
use crate::line::{Gather, Line, Slot};

use crate::tools::{Run, first_of};
use crate::tree::{self, Tree};
use crate::trial::{OneBoot, Trial, TrialWork};
use crate::{BootError, Writing};

const SNIPPETS: &str = "/etc/default/grub.d";

/// The last of all by its name: a snippet behind it could drop what it says.
const OURS: &str = "/etc/default/grub.d/zz-quietcore.cfg";

const CFG: &str = "/boot/grub/grub.cfg";

/// GRUB on Debian and Ubuntu.
pub static LOADER: Loader = Loader {
    name: "grub-debian",
    about: "GRUB with /etc/default/grub.d and update-grub (Debian, Ubuntu and theirs)",
    find,
    lines,
    entries,
    commit,
    fallback,
    trial: Trial::By(trial),
    words: Words::Plain,
    keeper: Keeper::Files,
    efi_name: Some("grub"),
    remark,
};

fn find(tree: &dyn Tree) -> Option<String> {
    let there = tree::is_there(tree, DEFAULTS) && tree::is_there(tree, CFG);
    (there && reads_snippets(tree)).then(|| format!("{DEFAULTS} and {CFG}"))
}

/// Whether `grub-mkconfig` reads the snippets: Debian's and Ubuntu's do, by a patch of theirs.
pub fn reads_snippets(tree: &dyn Tree) -> bool {
    tree::is_there(tree, "/usr/sbin/update-grub") || tree::is_there(tree, "/etc/debian_version")
}

/// The files that are read, in their order, without ours.
fn files(tree: &dyn Tree) -> Vec<String> {
    let names = tree.names(SNIPPETS).into_iter();
    let snippets = names
        .filter(|name| name.ends_with(".cfg"))
        .map(|name| format!("{SNIPPETS}/{name}"));
    std::iter::once(DEFAULTS.to_owned())
        .chain(snippets.filter(|path| path != OURS))
        .collect()
}

fn remark(tree: &dyn Tree) -> Option<String> {
    grub::perhaps(tree, &files(tree))
}

fn lines(tree: &dyn Tree) -> Result<Vec<Line>, BootError> {
    let mut slots = grub::places(tree, &files(tree))?;
    slots.push(own(tree)?);
    Ok(vec![Line {
        name: "normal entries".to_owned(),
        home: slots.len() - 1,
        slots,
        gather: Gather::AtHome,
    }])
}

/// The place in our snippet, whether it is there or not.
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
    grub::entries(tree, CFG)
}

fn update(tree: &dyn Tree) -> Result<Run, BootError> {
    first_of(tree, &[("update-grub", &[]), ("grub-mkconfig", &["-o", CFG])])
}

fn commit(tree: &dyn Tree, _turn: &Turn) -> Result<Vec<Run>, BootError> {
    Ok(vec![update(tree)?])
}

fn fallback(tree: &dyn Tree) -> Result<Fallback, BootError> {
    grub::fallback(tree, &files(tree), CFG)
}

fn trial(tree: &dyn Tree, wanted: &OneBoot) -> Result<TrialWork, BootError> {
    let tools = Tools {
        make: update,
        reboot: "grub-reboot",
    };
    let mut files = files(tree);
    files.extend(tree::is_there(tree, OURS).then(|| OURS.to_owned()));
    grub::trial(tree, &files, CFG, wanted, tools)
}
