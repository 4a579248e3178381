//! Creates a boot entry for the next boot only, for verbs that restart the machine themselves.

use super::clearing::trial_work;
use super::{BootScene, lock_boot_files, perform};
use crate::{ChangeLock, Session};
use apply::boot_line::{BootChange, OneShotMethod};
use boot::{Loader, MARK, MachineTree, OneShotEntry, OneShotSelection, RecordedWords, Work, trial};
use machine::cmdline::words;
use root::Failure;

/// Checks whether this machine can boot once with these words and that kernel. Writes nothing.
///
/// # Errors
/// A loader that cannot do it or rejects the words, a line that is too long, a kernel without an entry, the user's own trial.
pub fn check_once(session: &Session, one_boot: &OneShotEntry) -> Result<(), Failure> {
    let scene = BootScene::read(session)?;
    if scene.own_words.trial.is_some() {
        return Err(Failure::conflict(
            "a trial of a boot line is already under way",
            "only one trial can exist at a time",
            "end that first: `quietcore boot confirm` or `quietcore boot clear`",
        ));
    }
    work(&scene, one_boot).map(|_| ())
}

/// Makes the next boot, and only that one, use these words and that kernel.
///
/// # Errors
/// As [`check_once`], and files that cannot be written; everything is restored then.
pub fn choose_once(session: &Session, one_boot: &OneShotEntry) -> Result<(), Failure> {
    let changing = lock_boot_files(session)?;
    let scene = BootScene::read(session)?;
    let (loader, work, once) = work(&scene, one_boot)?;
    let after = RecordedWords {
        trial: work.own_changes.clone(),
        ..scene.own_words.clone()
    };
    let change = BootChange {
        once: Some(once),
        ..scene.change(after, &work)
    };
    perform(session, &changing, &change, loader, Some(vec![MARK.to_owned()]))
}

/// Removes the one-boot entry again. Returns the parts that another program changed.
///
/// # Errors
/// Files that cannot be written.
pub fn remove_once(session: &Session, changing: &ChangeLock) -> Result<Vec<String>, Failure> {
    let _boot_files = changing.with_boot_files()?;
    let scene = BootScene::read(session)?;
    let Some((loader, work)) = trial_work(&scene)? else {
        return Ok(Vec::new());
    };
    let after = RecordedWords {
        trial: None,
        ..scene.own_words.clone()
    };
    perform(session, changing, &scene.change(after, &work), loader, None)?;
    Ok(work.left)
}

/// Whether the running kernel was started by an entry for one boot.
#[must_use]
pub fn is_once(line: &str) -> bool {
    words(line).any(|word| word == MARK)
}

fn work(scene: &BootScene, one_boot: &OneShotEntry) -> Result<(&'static Loader, Work, OneShotMethod), Failure> {
    let loader = scene.loader(None)?.loader;
    scene.check_running(&one_boot.words)?;
    let files = MachineTree::of(scene.root);
    let (work, how) = trial(&files, loader, one_boot, &scene.limit())?;
    let once = match how {
        OneShotSelection::By(run) => OneShotMethod::Tool(run),
        OneShotSelection::OneShot(entry) => OneShotMethod::Entry(entry),
        OneShotSelection::Reboot(_) => {
            return Err(Failure::unable(
                format!(
                    "{} can start an entry for one boot only if the restart requests it",
                    loader.name
                ),
                "a machine that restarts for another reason would have its usual boot line",
                "this machine does not support it yet: measure with `quietcore boot trial` and one study for each line",
            ));
        }
    };
    Ok((loader, work, once))
}
