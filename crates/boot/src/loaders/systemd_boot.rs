//! Supports systemd-boot: an entry is a file in `loader/entries` of the EFI system partition or of an extended boot
//! partition, read at every boot. Kernels installed later take their line from `/etc/kernel/cmdline`.

use super::kernel_cmdline::{self, Extent};
use super::{BootEntry, Fallback, Loader, WordSupport, generated};
use crate::BootError;
use crate::line::EntryLine;
use crate::loaders::bls;
use crate::releases::choose;
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, OneShotSelection, Trial, TrialWork, first_line, trial_line};

/// Mount points of boot partitions, in addition to those in `/proc/mounts`.
const PLACES: &[&str] = &["/efi", "/boot", "/boot/efi", "/esp"];

/// The use of the line in `/etc/kernel/cmdline`, next to existing entries.
pub const LATER: &str = "kernels installed later";

/// systemd-boot.
pub static LOADER: Loader = Loader {
    name: "systemd-boot",
    about: "systemd-boot with loader/entries/*.conf on the EFI system partition",
    find,
    lines,
    entries,
    fallback,
    trial: Trial::By(trial),
    words: WordSupport::Any,
    efi_name: Some("systemd-boot"),
    refuses: generated::kernelstub,
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let place = places(tree).into_iter().next()?;
    Some(format!("{place}/loader/entries"))
}

/// Mount points with entries of systemd-boot: the loader itself, or its configuration, is next to them.
fn places(tree: &dyn FileTree) -> Vec<String> {
    let mounts = tree.read_text("/proc/mounts").unwrap_or_default();
    let fat = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        (kind == "vfat").then(|| place.to_owned())
    });
    let mut places: Vec<String> = PLACES.iter().map(ToString::to_string).collect();
    for place in fat {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let with_loader = places.iter().any(|place| has_loader(tree, place));
    places.retain(|place| {
        let files = bls::files(tree, &format!("{place}/loader/entries"));
        let ostree = files.iter().any(|path| path.contains("/ostree-"));
        with_loader && !files.is_empty() && !ostree
    });
    places
}

fn has_loader(tree: &dyn FileTree, place: &str) -> bool {
    tree.is_there(&format!("{place}/loader/loader.conf"))
        || tree
            .names(&format!("{place}/EFI/systemd"))
            .iter()
            .any(|name| name.starts_with("systemd-boot"))
}

fn files(tree: &dyn FileTree) -> Vec<String> {
    let dirs = places(tree).into_iter().map(|place| format!("{place}/loader/entries"));
    let all = dirs.flat_map(|dir| bls::files(tree, &dir));
    // An entry for another operating system has no Linux options.
    all.filter(|path| {
        tree.read_text(path)
            .is_some_and(|text| bls::value(&text, "linux").is_some())
    })
    .collect()
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let mut lines = Vec::new();
    for path in files(tree) {
        lines.push(bls::line(tree, &path)?);
    }
    lines.extend(kernel_cmdline::line(tree, LATER, Extent::AllLines)?);
    Ok(lines)
}

fn entries(tree: &dyn FileTree) -> Vec<BootEntry> {
    let mut all = Vec::new();
    for place in places(tree) {
        let dir = format!("{place}/loader/entries");
        let names = tree.names(&dir).into_iter().filter(|name| name.ends_with(".conf"));
        all.extend(names.filter_map(|name| bls::entry(tree, &format!("{dir}/{name}"))));
    }
    all
}

/// The entry that stays is a copy of the default entry.
fn fallback(tree: &dyn FileTree) -> Result<Fallback, BootError> {
    let Some(path) = started(tree) else {
        return Ok(Fallback::none("no entry starts Linux", "look at `bootctl list`"));
    };
    let edit = bls::copy(tree, &path, "before", None)?;
    let what = edit.path.clone();
    Ok(Fallback::Made(vec![edit], what))
}

/// The entry of the current boot, else the one in `loader.conf`, else the last by name.
fn started(tree: &dyn FileTree) -> Option<String> {
    const SELECTED: &str = "/sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let files = files(tree);
    let ends = |path: &&String, id: &str| {
        let name = bls::name(path).to_lowercase();
        !id.is_empty() && (name == id || name == format!("{id}.conf"))
    };
    let selected = tree
        .bytes(SELECTED)
        .map(|bytes| super::utf16(bytes.get(4..).unwrap_or_default()));
    let named = places(tree).iter().find_map(|place| {
        let text = tree.read_text(&format!("{place}/loader/loader.conf"))?;
        bls::value(&text, "default").map(|name| name.to_lowercase())
    });
    // Without boot counters, which the loader removes too.
    let by = |id: Option<String>| {
        files
            .iter()
            .find(|path| ends(path, id.as_deref().unwrap_or_default()))
            .cloned()
    };
    by(selected).or_else(|| by(named)).or_else(|| files.last().cloned())
}

fn trial(tree: &dyn FileTree, one_boot: &OneShotEntry) -> Result<TrialWork, BootError> {
    let started = started(tree)
        .ok_or_else(|| BootError::no_place("loader/entries", "no entry starts Linux", "look at `bootctl list`"))?;
    let path = match &one_boot.kernel {
        None => started,
        Some(release) => {
            // The default entry first, then the newest.
            let others = files(tree).into_iter().rev();
            let all = std::iter::once(started).chain(others);
            let found = all.filter_map(|path| Some((bls::release(tree, &path)?, path)));
            choose(LOADER.name, release, found)?
        }
    };
    let line = trial_line(&first_line(tree, &[bls::line(tree, &path)?])?, &one_boot.words);
    let edit = bls::copy(tree, &path, "trial", Some(&line))?;
    let entry = bls::name(&edit.path).to_owned();
    Ok(TrialWork {
        edits: vec![edit],
        runs: Vec::new(),
        chosen: OneShotSelection::OneShot(entry.clone()),
        entry,
        line,
    })
}
