//! Trying a line for one boot: an entry of its own with `panic=30`, chosen once. The default stays as it was until
//! somebody is there after the boot to say that it was good.

use crate::line::Line;
use crate::merge::on_line;
use crate::tools::Run;
use crate::tree::Tree;
use crate::{BootError, Edit};

/// The word by which the tried entry is known after the boot. A parameter of a module that does not exist is no
/// error for the kernel (`init/main.c`, `unknown_bootoption`).
pub const MARK: &str = "quietcore.trial=1";

/// A kernel that panics starts the machine again, with the default entry, after so many seconds.
pub(crate) const PANIC: &str = "panic=30";

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
