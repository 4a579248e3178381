//! Trying a line for one boot: an entry of its own with `panic=30`, chosen once. The default stays as it was until
//! somebody is there after the boot to say that it was good.

use crate::change::{OurFile, Ours, Work};
use crate::line::Line;
use crate::merge::on_line;
use crate::tools::Run;
use crate::tree::Tree;
use crate::{BootError, Edit, Limit, Loader};

/// The word by which the tried entry is known after the boot. A parameter of a module that does not exist is no
/// error for the kernel (`init/main.c`, `unknown_bootoption`).
pub const MARK: &str = "quietcore.trial=1";

/// A kernel that panics starts the machine again, with the default entry, after so many seconds.
const PANIC: &str = "panic=30";

/// What an entry for one boot is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneBoot {
    /// Words of the line, beside those of the machine.
    pub words: Vec<String>,
    /// The release of an installed kernel, as `uname -r` has it; `None` is the kernel that the loader starts by itself.
    pub kernel: Option<String>,
}

/// How a loader tries an entry once.
pub enum Trial {
    /// This loader cannot try an entry once.
    Cannot {
        /// Why.
        why: &'static str,
        /// What to do.
        next: &'static str,
    },
    /// It makes an entry that has this.
    By(fn(&dyn Tree, &OneBoot) -> Result<TrialWork, BootError>),
}

/// What makes an entry and chooses it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialWork {
    /// The entry.
    pub edits: Vec<Edit>,
    /// Tools that make the loader see it.
    pub runs: Vec<Run>,
    /// How it is chosen.
    pub chosen: Chosen,
    /// What the entry is called.
    pub entry: String,
    /// Its line.
    pub line: String,
}

/// How an entry is chosen for one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// By a tool of the loader.
    By(Run),
    /// By the EFI variable `LoaderEntryOneShot`, with this text.
    OneShot(String),
    /// By the way in which the machine is restarted: the argument of `reboot`.
    Reboot(&'static str),
}

/// The words of a trial on a line: those that are wanted, and those of a trial.
#[must_use]
pub fn trial_line(line: &str, words: &[String]) -> String {
    let mut all = words.to_vec();
    all.extend([PANIC.to_owned(), MARK.to_owned()]);
    on_line(line, &all)
}

/// An entry for one boot.
///
/// # Errors
/// A loader that cannot, words that it does not take, a line that is too long, a kernel that none of its entries starts.
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
            return Err(BootError::NoTrial {
                loader: loader.name.to_owned(),
                why: why.to_owned(),
                next: next.to_owned(),
            });
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

/// The line that a trial begins with.
///
/// # Errors
/// A file that is no text.
pub(crate) fn first_line(tree: &dyn Tree, lines: &[Line]) -> Result<String, BootError> {
    match lines.first() {
        Some(line) => line.text(tree),
        None => Ok(String::new()),
    }
}
