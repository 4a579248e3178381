//! Supports GRUB whose `grub-mkconfig` reads only `/etc/default/grub`: Red Hat 7, SUSE, Arch, Gentoo, Alpine. The words go
//! into that file.

use super::grub::{self, DEFAULTS, Generator, NORMAL, Tools};
use super::{BootEntry, EntrySource, Fallback, Loader, bls_grub, grub_cfg, grub_debian, variable};
use crate::BootError;
use crate::line::{EntryLine, SlotChoice};
use crate::tools::{ToolRun, first_of};
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, Trial, TrialWork};

/// Where `grub.cfg` is, besides the EFI system partition.
const PLACES: &[&str] = &["/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"];

/// GRUB with one file of defaults.
pub static LOADER: Loader = Loader {
    name: "grub",
    about: "GRUB with /etc/default/grub and grub-mkconfig (Red Hat 7, SUSE, Arch and others)",
    find,
    lines,
    entries,
    commit: |tree, _| Ok(vec![generate(tree)?]),
    fallback,
    trial: Trial::By(trial),
    efi_name: Some("grub"),
    source,
    remarks,
    refuses,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let cfg = cfg(tree)?;
    let others = grub_debian::reads_snippets(tree) || bls_grub::is_used(tree);
    (tree.is_there(DEFAULTS) && !others).then(|| format!("{DEFAULTS} and {cfg}"))
}

/// The `grub.cfg` that has entries: on EFI machines of Red Hat 7 it is on the system partition; later releases have a stub
/// there that refers to the other one.
fn cfg(tree: &dyn FileTree) -> Option<String> {
    const EFI: &str = "/boot/efi/EFI";
    let efi = tree.names(EFI).into_iter().map(|name| format!("{EFI}/{name}/grub.cfg"));
    let all = efi.chain(PLACES.iter().map(ToString::to_string));
    let mut all = all.filter(|path| tree.read_text(path).is_some_and(|text| text.contains("menuentry ")));
    all.next()
}

fn files() -> Vec<String> {
    vec![DEFAULTS.to_owned()]
}

fn remarks(tree: &dyn FileTree) -> Vec<String> {
    let mut all = grub::dropped(tree, &files());
    all.extend(grub_debian::unread(tree));
    all
}

fn source(tree: &dyn FileTree) -> EntrySource {
    generator(tree).source(tree)
}

fn refuses(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    generator(tree).refuses(tree, words)
}

fn generator(tree: &dyn FileTree) -> Generator {
    let tool = match tree.is_there("/usr/sbin/grub2-mkconfig") {
        true => "grub2-mkconfig -o",
        false => "grub-mkconfig -o",
    };
    Generator {
        files: files(),
        cfg: cfg(tree).unwrap_or_default(),
        tool,
    }
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let slots = grub::places(tree, &files())?;
    if slots.is_empty() {
        let line = variable::shell(tree, DEFAULTS, NORMAL, "")?;
        let shell = Some(grub::shell_line(files()));
        return Ok(vec![EntryLine { shell, ..line }]);
    }
    // Without a variable for normal entries, the words apply to all of them.
    let slot_index = slots
        .iter()
        .rposition(|slot| slot.key.starts_with(NORMAL))
        .unwrap_or(slots.len() - 1);
    Ok(vec![EntryLine {
        name: "normal entries".to_owned(),
        new_word_slot: slot_index,
        slots,
        gather: SlotChoice::InPlace,
        shell: Some(grub::shell_line(files())),
    }])
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    cfg(tree).map(|path| grub_cfg::entries(tree, &path)).unwrap_or_default()
}

fn generate(tree: &dyn FileTree) -> Result<ToolRun, BootError> {
    let cfg = cfg(tree).unwrap_or_default();
    first_of(
        tree,
        &[("grub2-mkconfig", &["-o", &cfg]), ("grub-mkconfig", &["-o", &cfg])],
    )
}

fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    let only_all = !lines(tree)?
        .iter()
        .any(|line| line.slots[line.new_word_slot].key.starts_with(NORMAL));
    let found = grub::fallback(tree, &files(), &cfg(tree).unwrap_or_default())?;
    Ok(match found {
        // If the words are in the variable for all entries, rescue entries get them too.
        Fallback::Stays(_) if only_all => grub::own_fallback(tree, &files())?,
        found => found,
    })
}

fn trial(tree: &dyn FileTree, one_boot: &OneShotEntry) -> Result<TrialWork, BootError> {
    let reboot = match tree.is_there("/usr/sbin/grub2-reboot") {
        true => "grub2-reboot",
        false => "grub-reboot",
    };
    let tools = Tools { make: generate, reboot };
    grub::trial(tree, &files(), &cfg(tree).unwrap_or_default(), one_boot, tools)
}
