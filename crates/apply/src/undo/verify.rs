//! Whether every file is as it was, once a layer is taken back.

use super::{Force, Undone, offline, unban};
use crate::layers::{Layer, LayerState};
use crate::{System, fingerprint};
use machine::Cgroups;
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

/// Holds every file of the state before against now; what drift explains was said already. What no step of ours explains
/// is somebody else's: it is left alone for good where that is wished, and gets its former value where that is.
pub(super) fn verify(
    system: &dyn System,
    files: &BTreeMap<String, String>,
    force: Force,
    undone: &mut Undone,
) {
    let mut others = unexplained(system, files, undone);
    if force == Force::Restore {
        // A set may not take what its parent does not have yet, or has not given back yet: so twice.
        for _ in 0..2 {
            others.retain(|path, _| !gives_back(system, path, &files[path]));
        }
    }
    let told = match force {
        Force::Keep => &mut undone.drift,
        Force::No | Force::Restore => &mut undone.failed,
    };
    told.extend(others.into_values());
}

/// Differences of which nothing was said yet, by path.
fn unexplained(
    system: &dyn System,
    files: &BTreeMap<String, String>,
    undone: &mut Undone,
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

fn gives_back(system: &dyn System, path: &str, former: &str) -> bool {
    let is_former = || system.root().value(path).ok().flatten().as_deref() == Some(former);
    system.write(path, former).is_ok() && is_former()
}
