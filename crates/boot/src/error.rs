//! Defines the errors of a boot line change. Each has three lines: what failed, why, what to do next.

use root::{Failure, Status};
use std::fmt;

/// Why a boot line is not changed. Nothing has been written when one of these is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootError {
    /// No loader was recognised.
    NoLoader {
        /// Names of the loaders.
        looked_for: String,
        /// What could not be read, if anything.
        refused: String,
        /// What to do.
        next: String,
    },
    /// More than one loader was recognised.
    Several {
        /// Names and evidence.
        found: String,
    },
    /// The named loader is not on this machine.
    NotHere {
        /// The name.
        name: String,
        /// The loaders that are.
        found: String,
    },
    /// A file that is not text.
    NotText {
        /// The file.
        path: String,
    },
    /// A file without a slot for the line.
    NoPlace {
        /// The file.
        path: String,
        /// The missing text.
        why: String,
        /// The remedy.
        next: String,
    },
    /// A file that a shell reads and whose line cannot be computed.
    NotComputed {
        /// The file.
        path: String,
        /// The line in it, from 1.
        line: usize,
        /// The construct that cannot be computed.
        why: String,
        /// What to do by hand.
        next: String,
    },
    /// Files that disagree on the line.
    Disagree {
        /// The configuration files.
        files: String,
        /// The files generated from them.
        generated: String,
        /// Both lines.
        why: String,
        /// What to do.
        next: String,
    },
    /// Files that another program regenerates.
    Generated {
        /// The file, or a description of the files.
        path: String,
        /// The program that writes it.
        why: String,
        /// The right file to edit.
        next: String,
    },
    /// A loader whose files are displayed but not edited.
    Shown {
        /// The loader.
        loader: String,
        /// The evidence for it.
        why: String,
        /// The right file to edit, and its content afterwards.
        next: String,
    },
    /// The loader with files on the machine did not start it.
    NotTheOne {
        /// The files, and the evidence against them.
        why: String,
        /// What to do.
        next: String,
    },
    /// A word that is invalid on a boot line.
    Word {
        /// The word.
        word: String,
        /// Why not.
        why: String,
        /// The remedy.
        next: String,
    },
    /// A line that the kernel would truncate.
    TooLong {
        /// Which entry.
        entry: String,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        most: usize,
        /// The source of the limit.
        who: String,
    },
    /// Our words are in another loader.
    OtherLoader {
        /// Where they are.
        there: String,
    },
    /// No entry would stay without our words.
    NoFallback {
        /// Why.
        why: String,
        /// What to do.
        next: String,
    },
    /// The loader's own tool is not installed.
    NoTool {
        /// Its name.
        tool: String,
        /// Its purpose.
        why: String,
    },
    /// No entry starts a kernel.
    NoKernel {
        /// The loader's name.
        loader: String,
        /// The kernel's release.
        release: String,
        /// The releases that entries start.
        there: String,
    },
    /// The loader cannot choose between kernels.
    OneKernel {
        /// The loader's name.
        loader: String,
        /// The kernel's release.
        release: String,
        /// Why.
        why: String,
    },
    /// The loader cannot try an entry once.
    NoTrial {
        /// Its name.
        loader: String,
        /// Why.
        why: String,
        /// What to do.
        next: String,
    },
}

impl BootError {
    /// The same error, with the words to add by hand, where to add them, and what activates them.
    #[must_use]
    pub fn by_hand(self, words: &[String], place: &str, tool: &str) -> BootError {
        match self {
            BootError::NotComputed { path, line, why, .. } if !words.is_empty() => BootError::NotComputed {
                next: format!(
                    "add these words by hand to {place}, then run `{tool}`: {}",
                    words.join(" ")
                ),
                path,
                line,
                why,
            },
            other => other,
        }
    }
}

impl BootError {
    fn status(&self) -> Status {
        match self {
            BootError::NoLoader { refused, .. } if !refused.is_empty() => Status::Denied,
            BootError::OtherLoader { .. } => Status::Conflict,
            BootError::Several { .. }
            | BootError::NotHere { .. }
            | BootError::Word { .. }
            | BootError::TooLong { .. }
            | BootError::NoFallback { .. }
            | BootError::NoKernel { .. } => Status::Usage,
            _ => Status::Unable,
        }
    }

    /// What failed.
    fn what(&self) -> String {
        match self {
            BootError::NoLoader { .. } => "no boot loader was found that quietcore can edit".to_owned(),
            BootError::Several { .. } => "several boot loaders were found".to_owned(),
            BootError::NotHere { name, .. } => format!("loader {name} was not found on this machine"),
            BootError::NotText { path } => format!("{path} is not changed"),
            BootError::NoPlace { path, .. } => format!("{path} has no place for the boot line"),
            BootError::NotComputed { .. } => {
                "the boot line cannot be computed, so its files are not edited".to_owned()
            }
            BootError::Disagree { files, generated, .. } => {
                format!("the boot line of {files} is not the one in {generated}, so neither is edited")
            }
            BootError::Generated { path, .. } => format!("an edit of {path} would not last"),
            BootError::Shown { loader, .. } => {
                format!("{loader} starts this machine, and quietcore does not edit its file")
            }
            BootError::NotTheOne { .. } => {
                "the boot loader whose files are here did not start this machine".to_owned()
            }
            BootError::Word { word, .. } => format!("`{word}` cannot be put on the boot line"),
            BootError::TooLong { entry, .. } => format!("the boot line of {entry} would be too long"),
            BootError::OtherLoader { there } => {
                format!("quietcore's words are in the files of loader {there}")
            }
            BootError::NoFallback { .. } => "no entry would stay bootable as it was".to_owned(),
            BootError::NoTool { tool, .. } => format!("{tool} is not there"),
            BootError::NoKernel { loader, release, .. } => {
                format!("no entry of {loader} starts kernel {release}")
            }
            BootError::OneKernel { loader, release, .. } => {
                format!("loader {loader} cannot start kernel {release} for one boot")
            }
            BootError::NoTrial { loader, .. } => {
                format!("loader {loader} cannot try an entry for one boot")
            }
        }
    }

    /// The reason.
    fn why(&self) -> String {
        match self {
            BootError::NoLoader {
                looked_for, refused, ..
            } => format!("looked for: {looked_for}{refused}"),
            BootError::Several { found } => found.clone(),
            BootError::NotHere { found, .. } => format!("found: {found}"),
            BootError::NotText { .. } => "it is no UTF-8 text, so its bytes could not all be kept".to_owned(),
            BootError::NotComputed { path, line, why, .. } => format!("{path}:{line}: {why}"),
            BootError::TooLong {
                length, most, who, ..
            } => format!("it would have {length} bytes, and {who} takes {most}"),
            BootError::OtherLoader { .. } => "one machine has one boot line of ours".to_owned(),
            BootError::NoKernel { there, .. } => format!("its entries start: {there}"),
            BootError::NoPlace { why, .. }
            | BootError::Disagree { why, .. }
            | BootError::Generated { why, .. }
            | BootError::Shown { why, .. }
            | BootError::NotTheOne { why, .. }
            | BootError::Word { why, .. }
            | BootError::NoFallback { why, .. }
            | BootError::NoTool { why, .. }
            | BootError::OneKernel { why, .. }
            | BootError::NoTrial { why, .. } => why.clone(),
        }
    }

    /// What to do next.
    fn next(&self) -> &str {
        match self {
            BootError::Several { .. } => "say which one starts this machine: --loader NAME",
            BootError::NotHere { .. } => "name one of those, or leave --loader out",
            BootError::NotText { .. } => "make it plain text first",
            BootError::TooLong { .. } => {
                "write shorter CPU lists, or take words out that are not needed; nothing was changed"
            }
            BootError::OtherLoader { .. } => "take them out with `quietcore boot clear` first",
            BootError::NoTool { .. } => "install it, then try again",
            BootError::NoKernel { .. } => {
                "name one of those as `uname -r` has it, or install that kernel first; nothing was changed"
            }
            BootError::OneKernel { .. } => {
                "leave the kernel out, or install it by hand and try it with the kernel that then runs"
            }
            BootError::NoLoader { next, .. }
            | BootError::NoPlace { next, .. }
            | BootError::NotComputed { next, .. }
            | BootError::Disagree { next, .. }
            | BootError::Generated { next, .. }
            | BootError::Shown { next, .. }
            | BootError::NotTheOne { next, .. }
            | BootError::Word { next, .. }
            | BootError::NoFallback { next, .. }
            | BootError::NoTrial { next, .. } => next,
        }
    }
}

impl From<&BootError> for Failure {
    fn from(error: &BootError) -> Failure {
        Failure::new(error.status(), error.what(), error.why(), error.next())
    }
}

impl From<BootError> for Failure {
    fn from(error: BootError) -> Failure {
        Failure::from(&error)
    }
}

impl fmt::Display for BootError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Failure::from(self).fmt(out)
    }
}

impl std::error::Error for BootError {}
