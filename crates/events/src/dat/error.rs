//! Defines the errors of a `trace.dat`.

use crate::error::FormatError;

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatError {
    /// It does not start with the magic number.
    #[error("this is not a trace.dat: it does not start with 17 08 44 and the word tracing")]
    NotOne,
    /// Another version.
    #[error("version {version} of trace.dat is not supported (6 and 7 are); trace-cmd convert changes the version")]
    Version {
        /// The stated version.
        version: String,
    },
    /// The file ends too early.
    #[error("the file ends at byte {at}, within {what}: it was truncated, or its recording did not finish")]
    Cut {
        /// The offset of the missing data.
        at: usize,
        /// The missing data.
        what: &'static str,
    },
    /// Unexpected data.
    #[error("byte {at}: expected {expected}")]
    Wrong {
        /// The offset.
        at: usize,
        /// The expected data.
        expected: &'static str,
    },
    /// Unknown compression.
    #[error("it is compressed with {name}; none, zlib and zstd are supported (trace-cmd convert --compression none)")]
    Packing {
        /// Its name.
        name: String,
    },
    /// Invalid compressed data.
    #[error("byte {at}: the compressed data cannot be unpacked: {why}")]
    Unpack {
        /// The offset.
        at: usize,
        /// The decompressor's error.
        why: String,
    },
    /// The decompressed size exceeds the limit.
    #[error(
        "unpacked it is larger than {limit} bytes, which its size and this machine's memory allow; unpack it with trace-cmd convert --compression none"
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// An invalid description of pages.
    #[error("its header_page: {0}")]
    Layout(#[from] FormatError),
}
