//! Edits boot lines in the files of boot loaders, as data: which loader starts a machine, where its lines are, what an edit
//! changes, and how to undo it byte for byte.
//!
//! This crate writes nothing. [`set`] and [`clear`] return [`Work`]: edits of whole files and invocations of the loader's
//! tools, which `apply` carries out. A loader is one file in `loaders/` and one line in [`LOADERS`].

mod blocks;
mod boot_trial;
mod change;
mod checks;
mod edit;
mod error;
mod evaluation;
mod limit;
mod line;
mod loaders;
mod merge;
mod reads;
mod releases;
mod seen;
mod shell;
mod shell_line;
pub mod tools;
pub mod tree;
mod trial;
mod tuned;
mod writing;

pub use boot_trial::trial;
pub use change::{EveryBoot, Need, OurFile, Ours, Work, clear, former_line, set};
pub use edit::{Edit, diff};
pub use error::{BootError, TrialError};
pub use evaluation::{
    Dialect, Outside, ShellFile, ShellSetting, ShellValue, ShellVariables, Uncomputed, evaluate,
};
pub use limit::{Limit, limit};
pub use line::{Gather, Length, Line, Slot};
pub use loaders::{
    Adds, Entry, Fallback, Found, Keeper, LOADERS, Loader, Source, Turn, Words, choose, contradiction, find,
    other_way,
};
pub use merge::{Swap, is_repeated, on_line};
pub use reads::{Reads, reads};
pub use seen::{After, BootState, Kept, has_words, isolated_by, missing_words, state_after};
pub use shell_line::ShellLine;
pub use tools::Run;
pub use tree::{Edited, FileKind, Files, Tree};
pub use trial::{Chosen, MARK, OneBoot, Trial, TrialWork};
pub use tuned::{Tuned, tuned};
pub use writing::{Word, Writing};
