//! Builds the work that tries a line for one boot: the content of its entry, checked before anything is written.

use crate::change::{OwnChanges, OwnFile, Work};
use crate::tree::FileTree;
use crate::trial::{OneShotEntry, OneShotSelection, PANIC, Trial};
use crate::{BootError, LineLimit, Loader};

/// An entry for one boot.
///
/// # Errors
/// A loader without support, words that it does not accept, a line that is too long, a kernel that none of its entries starts.
pub fn trial(
    tree: &dyn FileTree,
    loader: &'static Loader,
    one_boot: &OneShotEntry,
    limit: &LineLimit,
) -> Result<(Work, OneShotSelection), BootError> {
    let OneShotEntry { words, kernel } = one_boot;
    loader.check_words(words)?;
    let make = match loader.trial {
        Trial::By(make) => make,
        Trial::Cannot { why, next } => return Err(BootError::no_trial(loader.name, why, next)),
    };
    if let Some(error) = loader.refusal(tree, words) {
        return Err(error);
    }
    let made = make(tree, one_boot)?;
    if made.line.len() > limit.most {
        return Err(BootError::TooLong {
            entry: made.entry,
            length: made.line.len(),
            most: limit.most,
            source_name: limit.source_name.clone(),
        });
    }
    let files = made.edits.iter().map(|edit| OwnFile {
        path: edit.path.clone(),
        base: None,
        written: edit.after.clone(),
        mode: edit.mode,
        swaps: Vec::new(),
    });
    let ours = OwnChanges {
        loader: loader.name.to_owned(),
        words: words.clone(),
        files: files.collect(),
        seen: Vec::new(),
    };
    let mut notes = vec![format!("entry {} has {PANIC}, and is started once", made.entry)];
    notes.extend(kernel.as_ref().map(|kernel| format!("it starts kernel {kernel}")));
    let work = Work {
        own_changes: Some(ours),
        edits: made
            .edits
            .into_iter()
            .filter(|edit| edit.before != edit.after)
            .collect(),
        runs: made.runs,
        notes,
        left: Vec::new(),
    };
    Ok((work, made.chosen))
}
