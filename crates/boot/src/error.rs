//! Defines the errors of a boot line change. Each has three lines: what failed, why, what to do next.

use root::Failure;
use std::fmt;

/// Why a boot line is not changed. Nothing has been written when one of these is returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootError {
    /// Any reason that no caller distinguishes from the others.
    Failed(Failure),
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
    /// A loader whose files are displayed but not edited.
    DisplayOnly {
        /// The loader.
        loader: String,
        /// The evidence for it.
        why: String,
        /// The right file to edit, and its content afterwards.
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
        source_name: String,
    },
    /// A boot line that cannot be tried once.
    Trial(TrialError),
}

/// Why a loader cannot start a line or a kernel for one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialError {
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

impl From<TrialError> for BootError {
    fn from(error: TrialError) -> BootError {
        BootError::Trial(error)
    }
}

impl BootError {
    /// Wrong usage: what, why, next.
    pub(crate) fn usage(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> BootError {
        BootError::Failed(Failure::usage(what, why, next))
    }

    /// Not possible on this machine: what, why, next.
    pub(crate) fn unable(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> BootError {
        BootError::Failed(Failure::unable(what, why, next))
    }

    /// A file without a slot for the line: the file, why, what to do.
    pub(crate) fn no_place(path: impl fmt::Display, why: impl ToString, next: impl Into<String>) -> BootError {
        BootError::unable(format!("{path} has no line for kernel parameters"), why, next)
    }

    /// A loader that cannot try an entry once: why, what to do.
    pub(crate) fn no_trial(loader: &str, why: impl ToString, next: impl Into<String>) -> BootError {
        BootError::Trial(TrialError::NoTrial {
            loader: loader.to_owned(),
            why: why.to_string(),
            next: next.into(),
        })
    }

    /// The same error, with the words to add by hand, where to add them, and what activates them.
    #[must_use]
    pub fn by_hand(self, words: &[String], place: &str, tool: &str) -> BootError {
        match self {
            BootError::NotComputed { path, line, why, .. } if !words.is_empty() => BootError::NotComputed {
                next: format!(
                    "add these parameters by hand to {place}, then run `{tool}`: {}",
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

impl From<&BootError> for Failure {
    /// One arm for each variant: its exit status, what, why, next.
    fn from(error: &BootError) -> Failure {
        match error {
            BootError::Failed(failure) => failure.clone(),
            BootError::NotComputed { path, line, why, next } => Failure::unable(
                "the boot line cannot be computed, so its files are not edited",
                format!("{path}:{line}: {why}"),
                next,
            ),
            BootError::Disagree {
                files,
                generated,
                why,
                next,
            } => Failure::unable(
                format!("the boot line of {files} differs from the one in {generated}, so neither is edited"),
                why,
                next,
            ),
            BootError::DisplayOnly { loader, why, next } => Failure::unable(
                format!("{loader} starts this machine, and quietcore does not edit its files"),
                why,
                next,
            ),
            BootError::TooLong {
                entry,
                length,
                most,
                source_name: who,
            } => Failure::usage(
                format!("the boot line of {entry} would be too long"),
                format!("it would have {length} bytes; the limit for {who} is {most}"),
                "write shorter CPU lists or remove parameters that are not needed; nothing was changed",
            ),
            BootError::Trial(error) => error.into(),
        }
    }
}

impl From<&TrialError> for Failure {
    fn from(error: &TrialError) -> Failure {
        match error {
            TrialError::NoKernel { loader, release, there } => Failure::usage(
                format!("no entry of {loader} starts kernel {release}"),
                format!("its entries start: {there}"),
                "use one of these releases, as `uname -r` prints them, or install that kernel first; nothing was \
                 changed",
            ),
            TrialError::OneKernel { loader, release, why } => Failure::unable(
                format!("loader {loader} cannot start kernel {release} for one boot"),
                why,
                "leave the kernel out, or install it by hand and try it with the kernel that is started then",
            ),
            TrialError::NoTrial { loader, why, next } => Failure::unable(
                format!("loader {loader} cannot start an entry for one boot only"),
                why,
                next,
            ),
        }
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
