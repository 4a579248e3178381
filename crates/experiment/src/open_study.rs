//! A study with its directory, on the machine that runs it.

use crate::directory::Directory;
use crate::forecast::Forecast;
use session::Session;
use std::sync::atomic::AtomicBool;

/// What every run of a study uses.
#[derive(Clone, Copy)]
pub(crate) struct OpenStudy<'a> {
    /// The machine, and where progress is reported.
    pub session: &'a Session,
    /// The study.
    pub forecast: &'a Forecast,
    /// Where its results are.
    pub directory: &'a Directory,
    /// Becomes true when the study is to stop.
    pub stop: &'a AtomicBool,
}
