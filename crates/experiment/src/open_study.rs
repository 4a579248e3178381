//! Bundles a study with its directory, on the machine that runs it.

use crate::directory::Directory;
use crate::forecast::Forecast;
use session::Session;
use std::sync::atomic::AtomicBool;

/// The context of every run of a study.
#[derive(Clone, Copy)]
pub(crate) struct OpenStudy<'a> {
    /// The machine, which also receives progress.
    pub session: &'a Session,
    /// The study.
    pub forecast: &'a Forecast,
    /// The directory of its results.
    pub directory: &'a Directory,
    /// Becomes true if the study is to stop.
    pub stop: &'a AtomicBool,
}
