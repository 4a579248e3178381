//! Records the result of the last `check` of this boot in `/run/quietcore/last_check`, for `status`.
//!
//! Only root can, and only where something was applied: elsewhere there is no state directory, and a check leaves no trace.

use crate::Session;
use root::RootError;
use serde::{Deserialize, Serialize};

const NAME: &str = "last_check";

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCheck {
    /// The isolated CPUs that were checked, as a list.
    pub cpus: String,
    /// When it ended, in seconds since 1970.
    pub at_s: u64,
    /// `quiet`, `noisy` or `unknown`, as in `check --json`.
    pub verdict: String,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
}

impl Session {
    /// Records a check, if this user can and the state directory exists.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_check(&self, check: &LastCheck) -> Result<(), RootError> {
        match (self.state(), serde_json::to_vec(check)) {
            (Ok(Some(state)), Ok(bytes)) => state.replace(NAME, &bytes),
            _ => Ok(()),
        }
    }

    /// The last recorded check; `None` without one, and where the file is not readable for this user or no longer understood.
    #[must_use]
    pub fn last_check(&self) -> Option<LastCheck> {
        let bytes = self.state().ok()??.read(NAME).ok()??;
        serde_json::from_slice(&bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::{Failure, Live};

    struct Nowhere;
    impl crate::Reporter for Nowhere {
        fn note(&self, _: &str) {}
        fn warn(&self, _: &Failure) {}
        fn error(&self, _: &Failure) {}
    }

    #[test]
    fn a_check_is_recorded_only_where_something_was_applied() {
        let dir = tempfile::tempdir().unwrap();
        let check = LastCheck {
            cpus: "3".to_owned(),
            at_s: 7,
            verdict: "quiet".to_owned(),
            errors: 0,
            warnings: 1,
        };
        let session = Session::on(Live::rehearsal(dir.path()), &Nowhere);
        session.record_check(&check).unwrap();
        assert_eq!(session.last_check(), None);
        session.made_state().unwrap();
        session.record_check(&check).unwrap();
        assert_eq!(session.last_check(), Some(check));
        session.state().unwrap().unwrap().replace(NAME, b"{\"at_s\":").unwrap();
        assert_eq!(session.last_check(), None);
    }
}
