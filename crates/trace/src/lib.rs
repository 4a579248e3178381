//! Reads the kernel's trace buffers while they fill: available events, pages, and lost events.
//!
//! This crate only reads. `apply::tracing` creates an instance, enables events and restores everything, because that
//! changes the machine; this crate gets the directory. It never sleeps on a buffer: the kernel wakes a waiting reader
//! with an interrupt on the observed CPU.

mod catalogue;
mod recording;
mod source;
mod spooler;
mod stats;

pub use catalogue::{Catalogue, catalogue, events_of};
pub use recording::{DrainEnd, PageMemory, Recorder, RecordingOutcome};
pub use source::{BufferSource, PageAccess};
pub use spooler::{SpoolResult, Spooler};
pub use stats::Stats;

use events::FormatError;
use root::RootError;

/// Errors of reading or recording a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file of tracefs.
    #[error(transparent)]
    Root(#[from] RootError),
    /// An invalid description.
    #[error("{path}: {error}; please report this with the file's text")]
    Format {
        /// The file.
        path: String,
        /// The error.
        error: FormatError,
    },
    /// None of the requested events exists.
    #[error(
        "this kernel has none of these events: {requested}; `available_events` in its tracefs lists the existing ones"
    )]
    NoEvents {
        /// The requested events.
        requested: String,
    },
}
