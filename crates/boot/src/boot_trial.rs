//! Builds the work that tries a line for one boot: the content of its entry, checked before anything is written.

use crate::change::{OurFile, Ours, Work};
use crate::tree::Tree;
use crate::trial::{Chosen, OneBoot, PANIC, Trial};
use crate::{BootError, Limit, Loader, TrialError};

/// An entry for one boot.
///
/// # Errors
/// A loader without support, words that it does not accept, a line that is too long, a kernel that none of its entries starts.
pub fn trial(
    tree: &dyn Tree,
    loader: &'static Loader,
    wanted: &OneBoot,
    limit: &Limit,
) -> Result<(Work, Chosen), BootError> {
    let OneBoot { words, kernel } = wanted;
    loader.check_words(words)?;
    let make = match loader.trial {
        Trial::By(make) => make,
        Trial::Cannot { why, next } => {
            return Err(TrialError::NoTrial {
                loader: loader.name.to_owned(),
                why: why.to_owned(),
                next: next.to_owned(),
            }
            .into());
        }
    };
    if let Some(error) = loader.refusal(tree, words) {
        return Err(error);
    }
    let made = make(tree, wanted)?;
    if made.line.len() > limit.most {
        return Err(BootError::TooLong {
            entry: made.entry,
            length: made.line.len(),
            most: limit.most,
            who: limit.who.clone(),
        });
    }
    let files = made.edits.iter().map(|edit| OurFile {
        path: edit.path.clone(),
        base: None,
        written: edit.after.clone(),
        mode: edit.mode,
        swaps: Vec::new(),
    });
    let ours = Ours {
        loader: loader.name.to_owned(),
        words: words.clone(),
        files: files.collect(),
        seen: Vec::new(),
    };
    let mut notes = vec![format!("entry {} has {PANIC}, and is started once", made.entry)];
    notes.extend(kernel.as_ref().map(|kernel| format!("it starts kernel {kernel}")));
    let work = Work {
        ours: Some(ours),
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
