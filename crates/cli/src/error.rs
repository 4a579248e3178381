//! What a verb says when it fails: one line of what, one of why, one of what to do next.

use crate::Status;
use root::RootError;

/// The failure of a verb.
#[derive(Clone, Debug)]
pub struct CommandError {
    /// Exit status.
    pub status: Status,
    /// What failed.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl CommandError {
    /// A failure with its three lines.
    pub fn new(
        status: Status,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> CommandError {
        CommandError {
            status,
            what: what.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// Wrong usage: what, why, next.
    pub fn usage(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> CommandError {
        CommandError::new(Status::Usage, what, why, next)
    }
}

impl From<plan::Refusal> for CommandError {
    fn from(refusal: plan::Refusal) -> CommandError {
        use plan::Refusal;
        let status = match refusal {
            Refusal::TooSmall { .. }
            | Refusal::UnknownCpus
            | Refusal::NoLocality { .. }
            | Refusal::OneKind { .. }
            | Refusal::NotSoMany { most: 0, .. } => Status::Unable,
            Refusal::Taken { .. } => Status::Conflict,
            Refusal::Unsafe { .. } => Status::Bug,
            _ => Status::Usage,
        };
        let text = refusal.to_string();
        let mut lines = text.splitn(3, '\n').map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        CommandError {
            status,
            what: line(),
            why: line(),
            next: line(),
        }
    }
}

impl From<RootError> for CommandError {
    fn from(error: RootError) -> CommandError {
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
        CommandError::new(status, what, why, next)
    }
}
