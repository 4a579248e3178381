//! Tries a line for one boot: a separate entry with `panic=30`, selected once. The default stays unchanged until the user
//! confirms the boot afterwards.

use crate::line::EntryLine;
use crate::merge::on_line;
use crate::tools::ToolRun;
use crate::tree::FileTree;
use crate::{BootError, FileEdit};

/// The word that identifies the tried entry after the boot. The kernel accepts a parameter of a module that does not
/// exist (`init/main.c`, `unknown_bootoption`).
pub const MARK: &str = "quietcore.trial=1";

/// A kernel that panics reboots the machine, into the default entry, after this many seconds.
pub(crate) const PANIC: &str = "panic=30";

/// The properties of an entry for one boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneShotEntry {
    /// Words of the line, in addition to those of the machine.
    pub words: Vec<String>,
    /// The release of an installed kernel, as in `uname -r`; `None` is the loader's default kernel.
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
    /// It creates an entry with these properties.
    By(fn(&dyn FileTree, &OneShotEntry) -> Result<TrialWork, BootError>),
}

/// The steps that create an entry and select it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialWork {
    /// The entry.
    pub edits: Vec<FileEdit>,
    /// Tools that make the loader list it.
    pub runs: Vec<ToolRun>,
    /// How it is selected.
    pub chosen: OneShotSelection,
    /// Its title.
    pub entry: String,
    /// Its line.
    pub line: String,
}

/// How an entry is selected for one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneShotSelection {
    /// By a tool of the loader.
    By(ToolRun),
    /// By the EFI variable `LoaderEntryOneShot`, with this text.
    OneShot(String),
    /// By the argument of `reboot`.
    Reboot(&'static str),
}

/// The words of a trial on a line: the requested ones, and those of every trial.
pub fn trial_line(line: &str, words: &[String]) -> String {
    let mut all = words.to_vec();
    all.extend([PANIC.to_owned(), MARK.to_owned()]);
    on_line(line, &all)
}

/// The line from which a trial starts.
///
/// # Errors
/// A file that is not text.
pub(crate) fn first_line(tree: &dyn FileTree, lines: &[EntryLine]) -> Result<String, BootError> {
    match lines.first() {
        Some(line) => line.text(tree),
        None => Ok(String::new()),
    }
}
