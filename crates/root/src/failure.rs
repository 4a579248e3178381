//! Defines why a command failed, in three parts that stay separate from the lowest crate to the screen; and its exit status.

use std::fmt;
use std::process::ExitCode;

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success; for a check: quiet.
    Done,
    /// A check failed, a threshold was reached, or there is an error-level finding.
    Failed,
    /// Wrong usage.
    Usage,
    /// Not permitted.
    Denied,
    /// Not possible on this kernel or machine.
    Unable,
    /// Conflict or drift: exactly the named things were left unchanged.
    Conflict,
    /// A bug of quietcore.
    Bug,
    /// The status of a program that quietcore ran, or 125 to 127 if it could not be run.
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Creates a failure from its three parts.
    pub fn new(status: Status, what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> Failure {
        Failure {
            status,
            what: what.into(),
            why: why.to_string(),
            next: next.into(),
        }
    }

    /// Wrong usage: what, why, next.
    pub fn usage(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> Failure {
        Failure::new(Status::Usage, what, why, next)
    }

    /// Not possible on this kernel or machine: what, why, next.
    pub fn unable(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> Failure {
        Failure::new(Status::Unable, what, why, next)
    }

    /// In conflict with another program or with what is there: what, why, next.
    pub fn conflict(what: impl Into<String>, why: impl ToString, next: impl Into<String>) -> Failure {
        Failure::new(Status::Conflict, what, why, next)
    }

    /// A bug of quietcore: what, why.
    pub fn bug(what: impl Into<String>, why: impl ToString) -> Failure {
        Failure::new(Status::Bug, what, why, "please report this as a bug")
    }
}

/// Three lines: what, why, next.
impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n{}\n{}", self.what, self.why, self.next)
    }
}
