//! Whether every file is as it was, once a layer is taken back.

use super::{Undone, offline, unban};
use crate::layers::{Layer, LayerState};
use crate::{System, fingerprint};
use machine::Machine;
use std::collections::BTreeMap;

/// The files as they must be afterwards, where the journal holds such a state: before the first layer when none
/// stays, or before this one when all that stay were there then and none has gone since.
pub(super) fn files_before<'r>(
    all: &'r [Layer<'r>],
    layer: &'r Layer<'r>,
    stay: &[&Layer],
) -> Option<&'r BTreeMap<String, String>> {
    if stay.is_empty() {
        return all.first().map(|first| first.files);
    }
    let is_last = stay.iter().all(|other| other.seq < layer.seq);
    let none_gone = all.iter().all(|other| other.state != LayerState::Gone);
    (is_last && none_gone).then_some(layer.files)
}

/// Holds every file of the state before against now; what drift explains was said already.
pub(super) fn verify(system: &dyn System, files: &BTreeMap<String, String>, undone: &mut Undone) {
    let machine = Machine::read(system.root());
    let now = fingerprint::files(system.root(), &machine);
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
            undone.failed.push(difference);
        }
    }
}
