//! Supports GRUB with entry files: Fedora, Red Hat 8 and later. Red Hat 8 keeps one line for all entries in GRUB's
//! environment block (`kernelopts`); later releases have a line in each entry. `/etc/kernel/cmdline` is for kernels
//! installed later. `grubby` edits the same files.

use super::kernel_cmdline::{self, Extent};
use super::systemd_boot::LATER;
use super::{BootEntry, Fallback, Loader, grub_debian};
use crate::line::{EntryLine, LengthRule, LineSlot};
use crate::loaders::bls;
use crate::releases::choose;
use crate::tools::first_of;
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, OneShotSelection, Trial, TrialWork, trial_line};
use crate::{BootError, TextEncoding};

const ENTRIES: &str = "/boot/loader/entries";
const BLOCKS: &[&str] = &["/boot/grub2/grubenv", "/boot/grub/grubenv"];
const SHARED: &str = "kernelopts";

/// s390 has a boot record instead of GRUB, generated from the same entries.
const ZIPL: &str = "/etc/zipl.conf";

/// GRUB or zipl with entry files.
pub static LOADER: Loader = Loader {
    name: "bls",
    about: "GRUB with entry files in /boot/loader/entries (Fedora, Red Hat 8 and later), or zipl",
    find,
    lines,
    entries,
    commit: |tree, _| match tree.is_there(ZIPL) {
        true => Ok(vec![first_of(tree, &[("zipl", &[])])?]),
        false => Ok(Vec::new()),
    },
    fallback,
    trial: Trial::By(trial),
    efi_name: Some("grub"),
    remarks,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    is_used(tree).then(|| ENTRIES.to_owned())
}

/// Whether GRUB or zipl reads its entries from files.
pub fn is_used(tree: &dyn FileTree) -> bool {
    let files = bls::files(tree, ENTRIES);
    let ostree = files.iter().any(|path| path.contains("/ostree-"));
    let cfg = ["/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"];
    let reported = cfg
        .iter()
        .any(|path| tree.read_text(path).is_some_and(|text| text.contains("blscfg")));
    !files.is_empty() && !ostree && (reported || tree.is_there(ZIPL))
}

/// The slots of an entry's own line, if it has one in addition to the shared one.
fn own_line(tree: &dyn FileTree, path: &str) -> Result<Option<EntryLine>, BootError> {
    let line = bls::line(tree, path)?;
    let text = tree.read_text(path).unwrap_or_default();
    let shared = bls::value(&text, "options").is_some_and(|line| line.contains("$kernelopts"));
    Ok((!shared).then_some(line))
}

fn is_rescue(path: &str) -> bool {
    path.contains("-0-rescue")
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let mut lines: Vec<EntryLine> = shared(tree)?.into_iter().collect();
    for path in bls::files(tree, ENTRIES).iter().filter(|path| !is_rescue(path)) {
        lines.extend(own_line(tree, path)?);
    }
    lines.extend(kernel_cmdline::line(tree, LATER, Extent::AllLines)?);
    Ok(lines)
}

/// Tools that write the same files, and files that nothing reads.
fn remarks(tree: &dyn FileTree) -> Vec<String> {
    const GRUBBY: [&str; 2] = [
        "`grubby` edits the same files, and `grubby --info=ALL` lists them",
        "`grub2-mkconfig --update-bls-cmdline` replaces the line of every entry with the one in /etc/default/grub, \
         which does not have these parameters",
    ];
    let mut all: Vec<String> = Vec::new();
    if tree.is_there("/usr/sbin/grubby") {
        all.extend(GRUBBY.map(str::to_owned));
    }
    all.extend(grub_debian::unread(tree));
    all
}

/// The line in the environment block, if there is one.
fn shared(tree: &dyn FileTree) -> Result<Option<EntryLine>, BootError> {
    for block in BLOCKS {
        let path = tree.resolved(block);
        let Some(text) = tree.text(&path)? else {
            continue;
        };
        let name = format!("\n{SHARED}=");
        if let Some(at) = text.find(&name) {
            let start = at + name.len();
            let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
            let slot = LineSlot {
                length: LengthRule::Fixed,
                ..LineSlot::new(path, SHARED, start..end, TextEncoding::EnvBlock)
            };
            return Ok(Some(EntryLine::of("all entries with $kernelopts", slot)));
        }
    }
    Ok(None)
}

/// The line of an entry as GRUB assembles it.
fn expanded(tree: &dyn FileTree, line: &str) -> Result<String, BootError> {
    let shared = shared(tree)?.map(|shared| shared.text(tree)).transpose()?;
    Ok(match shared {
        Some(shared) => line.replace("$kernelopts", &shared),
        None => line.to_owned(),
    })
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    let names = tree.names(ENTRIES).into_iter().filter(|name| name.ends_with(".conf"));
    let entries = names.filter_map(|name| {
        let entry = bls::entry(tree, &format!("{ENTRIES}/{name}"))?;
        let line = expanded(tree, &entry.line).unwrap_or_else(|_| entry.line.clone());
        Some(BootEntry { line, ..entry })
    });
    entries.collect()
}

/// The rescue entry if it has a line of its own; else a copy of the newest entry with its line written out.
fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    let files = bls::files(tree, ENTRIES);
    for path in files.iter().filter(|path| is_rescue(path)) {
        if own_line(tree, path)?.is_some() {
            return Ok(Fallback::Stays(path.clone()));
        }
    }
    let Some(path) = newest(&files) else {
        return Ok(Fallback::none(
            format!("there is no entry in {ENTRIES}"),
            "look at `grubby --info=ALL`",
        ));
    };
    let line = line_of(tree, path)?;
    let edit = bls::copy(tree, path, "before", Some(&line))?;
    let what = edit.path.clone();
    Ok(Fallback::Made(vec![edit], what))
}

fn newest(files: &[String]) -> Option<&String> {
    files.iter().rfind(|path| !is_rescue(path))
}

fn line_of(tree: &dyn FileTree, path: &str) -> Result<String, BootError> {
    let text = tree.text(path)?.unwrap_or_default();
    expanded(tree, &bls::value(&text, "options").unwrap_or_default())
}

fn trial(tree: &dyn FileTree, one_boot: &OneShotEntry) -> Result<TrialWork, BootError> {
    let files = bls::files(tree, ENTRIES);
    let newest = newest(&files)
        .ok_or_else(|| BootError::no_place(ENTRIES, "there is no entry", "look at `grubby --info=ALL`"))?;
    let why = match tree.is_there(ZIPL) {
        true => Some("zipl cannot select an entry for one boot".to_owned()),
        false => super::grub::no_one_shot(tree),
    };
    if let Some(why) = why {
        let next = "set it with `boot set`: one entry keeps the present boot line";
        return Err(BootError::no_trial(LOADER.name, why, next));
    }
    let path = match &one_boot.kernel {
        None => newest,
        Some(release) => {
            let entries = files.iter().rev();
            let found = entries.filter_map(|path| Some((bls::release(tree, path)?, path)));
            choose(LOADER.name, release, found)?
        }
    };
    let line = trial_line(&line_of(tree, path)?, &one_boot.words);
    let edit = bls::copy(tree, path, "trial", Some(&line))?;
    let name = bls::name(&edit.path);
    let entry = name.strip_suffix(".conf").unwrap_or(name).to_owned();
    let choices: &[(&str, &[&str])] = &[("grub2-reboot", &[&entry]), ("grub-reboot", &[&entry])];
    let chosen = OneShotSelection::By(first_of(tree, choices)?);
    Ok(TrialWork {
        edits: vec![edit],
        runs: Vec::new(),
        chosen,
        entry,
        line,
    })
}
