//! Why a trace could not be read.

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
