//! The kernel's trace buffers while they fill: which events there are, pages as they come, what was lost.
//!
//! Reading only. Who makes an instance, switches events on and gives everything back is `apply::tracing`, because that
//! changes the machine; this crate is given the directory. It never sleeps on a buffer: who waits in the kernel for data is
//! woken by an interrupt on the very CPU that is watched.

mod catalogue;
mod recording;
mod source;
mod spooler;
mod stats;

pub use catalogue::{Catalogue, catalogue, events_of};
pub use recording::{Drained, Recorded, Recorder};
pub use source::{Source, Way};
pub use spooler::{Spooled, Spooler};
pub use stats::Stats;

use events::FormatError;
use root::RootError;

/// Why a trace could not be read or recorded.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file of tracefs.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A description that is none.
    #[error("{path}: {error}; please report this with the file's text")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        error: FormatError,
    },
    /// None of the events that were asked for.
    #[error(
        "this kernel has none of these events: {wanted}; `available_events` in its tracefs lists those that it has"
    )]
    NoEvents {
        /// What was asked for.
        wanted: String,
    },
}
