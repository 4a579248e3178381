//! What can stand in the way of a change of the boot line. Each has three lines: what, why, what to do next.

use root::{Failure, Status};

/// Why a boot line is not changed. Nothing was written when one of these is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BootError {
    /// No loader was recognised.
    #[error(
        "no boot loader was found that quietcore can edit\nlooked for: {looked_for}{refused}\n\
         {next}"
    )]
    NoLoader {
        /// Names of the loaders.
        looked_for: String,
        /// What could not be read, if anything.
        refused: String,
        /// What to do.
        next: String,
    },
    /// More than one loader was recognised.
    #[error("several boot loaders were found\n{found}\nsay which one starts this machine: --loader NAME")]
    Several {
        /// Names and evidence.
        found: String,
    },
    /// The named loader is not on this machine.
    #[error(
        "loader {name} was not found on this machine\nfound: {found}\nname one of those, or leave --loader out"
    )]
    NotHere {
        /// The name.
        name: String,
        /// Those that are.
        found: String,
    },
    /// A file that is no text.
    #[error(
        "{path} is not changed\nit is no UTF-8 text, so its bytes could not all be kept\nmake it plain text first"
    )]
    NotText {
        /// The file.
        path: String,
    },
    /// A file without a place for the line.
    #[error("{path} has no place for the boot line\n{why}\n{next}")]
    NoPlace {
        /// The file.
        path: String,
        /// What was looked for.
        why: String,
        /// What helps.
        next: String,
    },
    /// A file that a shell reads and whose line is not computed.
    #[error("the boot line cannot be computed, so its files are not edited\n{path}:{line}: {why}\n{next}")]
    NotComputed {
        /// The file.
        path: String,
        /// The line in it, from 1.
        line: usize,
        /// What is not computed.
        why: String,
        /// What to do by hand.
        next: String,
    },
    /// Files that do not agree on the line.
    #[error("the boot line of {files} is not the one in {generated}, so neither is edited\n{why}\n{next}")]
    Disagree {
        /// The files of settings.
        files: String,
        /// What was generated from them.
        generated: String,
        /// Both lines.
        why: String,
        /// What to do.
        next: String,
    },
    /// Files that another program writes again.
    #[error("an edit of {path} would not last\n{why}\n{next}")]
    Generated {
        /// The file, or what the files are.
        path: String,
        /// Who writes it.
        why: String,
        /// The right place.
        next: String,
    },
    /// A loader whose files are shown and not edited.
    #[error("{loader} starts this machine, and quietcore does not edit its file\n{why}\n{next}")]
    Shown {
        /// The loader.
        loader: String,
        /// What shows it.
        why: String,
        /// The right place, and what stands there afterwards.
        next: String,
    },
    /// The loader whose files are there did not start this machine.
    #[error("the boot loader whose files are here did not start this machine\n{why}\n{next}")]
    NotTheOne {
        /// The files, and the evidence against them.
        why: String,
        /// What to do.
        next: String,
    },
    /// A word that cannot stand on a boot line.
    #[error("`{word}` cannot be put on the boot line\n{why}\n{next}")]
    Word {
        /// The word.
        word: String,
        /// Why not.
        why: String,
        /// What helps.
        next: String,
    },
    /// A line that the kernel would cut.
    #[error(
        "the boot line of {entry} would be too long\nit would have {length} bytes, and {who} takes {most}\n\
         write shorter CPU lists, or take words out that are not needed; nothing was changed"
    )]
    TooLong {
        /// Which entry.
        entry: String,
        /// Bytes that it would have.
        length: usize,
        /// Bytes that are taken.
        most: usize,
        /// By whom.
        who: String,
    },
    /// Our words are in another loader.
    #[error(
        "quietcore's words are in the files of loader {there}\none machine has one boot line of ours\n\
         take them out with `quietcore boot clear` first"
    )]
    OtherLoader {
        /// Where they are.
        there: String,
    },
    /// No entry would stay without our words.
    #[error("no entry would stay bootable as it was\n{why}\n{next}")]
    NoFallback {
        /// Why.
        why: String,
        /// What to do.
        next: String,
    },
    /// The loader's own tool is not there.
    #[error("{tool} is not there\n{why}\ninstall it, then try again")]
    NoTool {
        /// Its name.
        tool: String,
        /// What it is for.
        why: String,
    },
    /// No entry starts a kernel.
    #[error(
        "no entry of {loader} starts kernel {release}\nits entries start: {there}\n\
         name one of those as `uname -r` has it, or install that kernel first; nothing was changed"
    )]
    NoKernel {
        /// The loader's name.
        loader: String,
        /// The kernel's release.
        release: String,
        /// Those that entries start.
        there: String,
    },
    /// The loader has no choice of kernels.
    #[error(
        "loader {loader} cannot start kernel {release} for one boot\n{why}\n\
         leave the kernel out, or install it by hand and try it with the kernel that then runs"
    )]
    OneKernel {
        /// The loader's name.
        loader: String,
        /// The kernel's release.
        release: String,
        /// Why.
        why: String,
    },
    /// The loader cannot try an entry once.
    #[error("loader {loader} cannot try an entry for one boot\n{why}\n{next}")]
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
    /// The same, saying which words to add where by hand, and what makes them take effect.
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

impl From<BootError> for Failure {
    fn from(error: BootError) -> Failure {
        let status = match &error {
            BootError::Several { .. }
            | BootError::NotHere { .. }
            | BootError::Word { .. }
            | BootError::NoFallback { .. }
            | BootError::NoKernel { .. }
            | BootError::TooLong { .. } => Status::Usage,
            BootError::OtherLoader { .. } => Status::Conflict,
            BootError::NoLoader { refused, .. } if !refused.is_empty() => Status::Denied,
            BootError::NoLoader { .. }
            | BootError::NotText { .. }
            | BootError::NoPlace { .. }
            | BootError::NoTool { .. }
            | BootError::NotComputed { .. }
            | BootError::Disagree { .. }
            | BootError::Generated { .. }
            | BootError::Shown { .. }
            | BootError::NotTheOne { .. }
            | BootError::OneKernel { .. }
            | BootError::NoTrial { .. } => Status::Unable,
        };
        Failure::of_lines(status, &error)
    }
}
