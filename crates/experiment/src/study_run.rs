//! Defines the study that a command runs.

use crate::{Consent, StudyFile};
use std::path::Path;

/// A study to run.
pub struct StudyRun<'a> {
    /// The study.
    pub study: StudyFile,
    /// Its file, for messages.
    pub file: &'a Path,
    /// The directory of the results.
    pub out: &'a Path,
    /// Whether this machine may be rebooted.
    pub consent: Consent,
}
