//! Exit statuses, listed once.

use std::io::Write;
use std::process::ExitCode;

/// How a verb ended.
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
    /// A bug of ours.
    Bug,
    /// The status of a program that we ran, or 125 to 127 for our own failure to run it.
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

/// A panic is a bug of ours: say so in plain words and end with its status.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut err = std::io::stderr();
        // There is nobody left to tell when standard error is gone.
        let _ = writeln!(
            err,
            "error: quietcore met a bug in itself\n  why: {panic}\n next: please report it; `quietcore undo` takes \
             back whatever was in force"
        );
        std::process::exit(i32::from(Status::Bug.code()));
    }));
}
