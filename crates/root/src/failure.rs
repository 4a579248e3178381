//! Why a command failed, in three parts that stay apart from the lowest crate to the screen; and how a command ends.

use crate::RootError;
use std::process::ExitCode;

/// How a command ended: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done, or quiet.
    Done,
    /// A check failed, a threshold was hit, or an error-level finding.
    Failed,
    /// Wrong usage.
    Usage,
    /// Not permitted.
    Denied,
    /// This kernel or machine cannot.
    Unable,
    /// Conflict or drift: exactly what was named was left alone.
    Conflict,
    /// A bug of quietcore.
    Bug,
    /// The status of a program that quietcore ran, or 125 to 127 where it could not be run.
    Program(u8),
}

impl Status {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Denied => 3,
            Status::Unable => 4,
            Status::Conflict => 5,
            Status::Bug => 70,
            Status::Program(code) => code,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Exit status.
    pub status: Status,
    /// What failed.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl Failure {
    /// A failure with its three parts.
    pub fn new(
        status: Status,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> Failure {
        Failure {
            status,
            what: what.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// An error whose display has these three parts as lines.
    pub fn of_lines(status: Status, error: &dyn std::error::Error) -> Failure {
        let text = error.to_string();
        let mut lines = text.splitn(3, '\n').map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        Failure {
            status,
            what: line(),
            why: line(),
            next: line(),
        }
    }

    /// Wrong usage: what, why, next.
    pub fn usage(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Failure {
        Failure::new(Status::Usage, what, why, next)
    }
}

impl From<RootError> for Failure {
    fn from(error: RootError) -> Failure {
        let (status, next) = match &error {
            RootError::Denied { .. } => (Status::Denied, "run it as root (sudo quietcore ...)"),
            RootError::Ending { .. } => (Status::Usage, "give it a name with one of these endings"),
            RootError::Hostile { .. } | RootError::Archive { .. } => (
                Status::Usage,
                "name a directory or an archive that `quietcore snapshot` wrote",
            ),
            RootError::Io { .. } => (Status::Unable, "look at the path named above"),
            RootError::State { .. } => (
                Status::Unable,
                "move the file named above out of the way, then try again",
            ),
            RootError::ForeignLink { .. } | RootError::ForeignPipe { .. } => {
                (Status::Denied, "name a file in a directory of your own")
            }
            RootError::Busy { .. } => (Status::Conflict, "wait until it has finished, then try again"),
        };
        let text = error.to_string();
        let (what, why) = text
            .split_once(": ")
            .unwrap_or(("a file could not be used", &text));
        Failure::new(status, what, why, next)
    }
}
