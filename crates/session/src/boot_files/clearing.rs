//! Removes our words and the trial entry from the boot files.

use super::{BootScene, perform};
use crate::{ChangeLock, Session};
use apply::installed::{InstalledPath, RemovalResult};
use boot::{EditedTree, LOADERS, Loader, MachineTree, OwnChanges, RecordedWords, Work, clear};
use root::Failure;

/// Removes them as part of `undo --all`, which holds the lock.
///
/// # Errors
/// A journal that cannot be read.
pub fn clear_all(session: &Session, changing: &ChangeLock, removed: &mut RemovalResult) -> Result<(), Failure> {
    let _boot_files = match changing.with_boot_files() {
        Ok(lock) => lock,
        Err(error) => {
            removed.failed.push(error.reason());
            return Ok(());
        }
    };
    let scene = BootScene::read(session)?;
    let Some(BootRemoval { loader, work, .. }) = all_work(&scene)? else {
        return Ok(());
    };
    match perform(
        session,
        changing,
        &scene.change(RecordedWords::default(), &work),
        loader,
        None,
    ) {
        Ok(()) => {
            removed.drift.extend(work.left.iter().cloned());
            removed.placed.extend(work.edits.iter().map(|edit| InstalledPath {
                path: edit.path.clone(),
                outcome: match edit.after {
                    Some(_) => "restored",
                    None => "removed",
                },
            }));
        }
        Err(error) => removed.failed.push(error.reason()),
    }
    Ok(())
}

/// What is removed, and from which files.
pub struct BootRemoval {
    /// The loader that owns the files.
    pub loader: &'static Loader,
    /// The words.
    pub words: Vec<String>,
    /// The edits and the tools that run after them.
    pub work: Work,
}

/// The work that removes only the trial; `None` without a trial.
///
/// # Errors
/// A loader that this machine does not have, files that cannot be read.
pub(super) fn trial_work(scene: &BootScene) -> Result<Option<(&'static Loader, Work)>, Failure> {
    let ours: Vec<&OwnChanges> = scene.own_words.trial.iter().collect();
    Ok(work_of(scene, &ours)?.map(|clearing| (clearing.loader, clearing.work)))
}

/// The work that removes both the words and the trial; `None` if none of ours is installed.
///
/// # Errors
/// A loader that this machine does not have, files that cannot be read.
pub fn all_work(scene: &BootScene) -> Result<Option<BootRemoval>, Failure> {
    let own_words = &scene.own_words;
    let all: Vec<&OwnChanges> = own_words.trial.iter().chain(&own_words.line).collect();
    work_of(scene, &all)
}

fn work_of(scene: &BootScene, all: &[&OwnChanges]) -> Result<Option<BootRemoval>, Failure> {
    let Some(first) = all.first() else {
        return Ok(None);
    };
    let loader = LOADERS.iter().copied().find(|loader| loader.name == first.loader);
    let loader = loader.map_or_else(|| scene.loader(None).map(|found| found.loader), Ok)?;
    let files = MachineTree::of(scene.root);
    let mut work = Work::default();
    for ours in all {
        let done = EditedTree::new(&files, &work.edits);
        let next = clear(&done, loader, ours)?;
        work.edits.extend(next.edits);
        work.left.extend(next.left);
        for run in next.runs {
            if !work.runs.contains(&run) {
                work.runs.push(run);
            }
        }
    }
    let words = all.iter().flat_map(|ours| ours.words.clone()).collect();
    Ok(Some(BootRemoval { loader, words, work }))
}
