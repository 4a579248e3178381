//! Verifies that every file has its former content once a layer is undone.

use super::{Force, UndoOutcome, offline, unban};
use crate::layers::{ApplyLayer, LayerState};
use crate::{System, fingerprint};
use machine::Cgroups;
use std::collections::BTreeMap;

/// The expected files after the undo, if the journal has such a state: the state before the first layer if none stays,
/// or the state before this layer if all that stay existed then and none has ended since.
pub(super) fn files_before<'r>(
    all: &'r [ApplyLayer<'r>],
    layer: &'r ApplyLayer<'r>,
    stay: &[&ApplyLayer],
) -> Option<&'r BTreeMap<String, String>> {
    if stay.is_empty() {
        return all.first().map(|first| first.files);
    }
    let is_last = stay.iter().all(|other| other.seq < layer.seq);
    let none_undone = all.iter().all(|other| other.state != LayerState::Undone);
    (is_last && none_undone).then_some(layer.files)
}

/// Compares every file of the former state with the current one; differences that drift explains are already reported.
/// Another program made those that no step of ours explains. They are kept permanently or restored, as `force` says.
pub(super) fn verify(system: &dyn System, files: &BTreeMap<String, String>, force: Force, undone: &mut UndoOutcome) {
    let mut others = unexplained(system, files, undone);
    if force == Force::Restore {
        // Twice: a set may not contain what its parent does not have yet, or has not released yet.
        for _ in 0..2 {
            others.retain(|path, _| !restore_value(system, path, &files[path]));
        }
    }
    let list = match force {
        Force::Keep => &mut undone.drift,
        Force::No | Force::Restore => &mut undone.failed,
    };
    list.extend(others.into_values());
}

/// Differences that are not reported yet, by path.
fn unexplained(
    system: &dyn System,
    files: &BTreeMap<String, String>,
    undone: &mut UndoOutcome,
) -> BTreeMap<String, String> {
    let now = fingerprint::files(system.root(), &Cgroups::read(system.root()));
    let mut others = BTreeMap::new();
    for difference in fingerprint::file_differences(files, &now) {
        let path = difference.split(':').next().unwrap_or_default();
        if path == fingerprint::ONLINE {
            undone.failed.extend(offline::missing(files, &now));
        } else if !undone
            .drift
            .iter()
            .chain(&undone.failed)
            .chain(&undone.notes)
            .any(|line| line.starts_with(path))
            && !unban::is_placed(system, path, undone)
        {
            others.insert(path.to_owned(), difference);
        }
    }
    others
}

fn restore_value(system: &dyn System, path: &str, former: &str) -> bool {
    let is_former = || system.root().readable_value(path).as_deref() == Some(former);
    system.write(path, former).is_ok() && is_former()
}
