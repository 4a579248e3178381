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
pub use change::{EveryBoot, FallbackRequirement, OwnChanges, OwnFile, Work, clear, former_line, set};
pub use edit::{FileEdit, diff};
pub use error::{BootError, TrialError};
pub use evaluation::{
    Dialect, EvaluationFailure, ExternalFiles, ShellFile, ShellSetting, ShellValue, ShellVariables, evaluate,
};
pub use limit::{LineLimit, limit};
pub use line::{EntryLine, LengthRule, LineSlot, SlotChoice};
pub use loaders::{
    BootEntry, DetectedLoader, EntrySource, Fallback, LOADERS, LineAuthor, Loader, LoaderAdditions, WordChange,
    WordSupport, choose, contradiction, find, other_way,
};
pub use merge::{Swap, is_repeated, on_line};
pub use reads::{ReadExtent, reads};
pub use seen::{BootObservation, BootSinceWrite, RecordedWords, has_words, isolated_by, missing_words, state_after};
pub use shell_line::ShellLine;
pub use tools::ToolRun;
pub use tree::{EditedTree, FileKind, FileTree, MachineTree};
pub use trial::{MARK, OneShotEntry, OneShotSelection, Trial, TrialWork};
pub use tuned::{TunedWords, tuned};
pub use writing::{LineWord, TextEncoding};
