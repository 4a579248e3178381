//! Why a command failed, in three parts that stay apart from the lowest crate to the screen; and how a command ends.

use std::fmt;
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
    /// What failed and why, in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        format!("{}: {}", self.what, self.why)
    }

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

    /// Wrong usage: what, why, next.
    pub fn usage(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Failure {
        Failure::new(Status::Usage, what, why, next)
    }
}

/// Three lines: what, why, next.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n{}\n{}", self.what, self.why, self.next)
    }
}
