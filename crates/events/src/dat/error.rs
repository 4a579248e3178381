//! What can be wrong with a `trace.dat`.

use crate::error::FormatError;

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatError {
    /// It does not begin with the magic number.
    #[error("this is no trace.dat: it does not begin with 17 08 44 and the word tracing")]
    NotOne,
    /// Another version.
    #[error(
        "version {version} of trace.dat is not known here (6 and 7 are); trace-cmd convert makes one of the other"
    )]
    Version {
        /// What it says.
        version: String,
    },
    /// The file ends too early.
    #[error("the file ends at byte {at}, within {what}: it was cut, or its recording was not finished")]
    Cut {
        /// Where something was expected.
        at: usize,
        /// What.
        what: &'static str,
    },
    /// Something else stands where only one thing can.
    #[error("byte {at}: expected {expected}")]
    Wrong {
        /// Where.
        at: usize,
        /// What belongs there.
        expected: &'static str,
    },
    /// It is packed in a way that is not known.
    #[error("it is packed with {name}; none, zlib and zstd are known (trace-cmd convert --compression none)")]
    Packing {
        /// Its name.
        name: String,
    },
    /// What is packed cannot be unpacked.
    #[error("byte {at}: what is packed there cannot be unpacked: {why}")]
    Unpack {
        /// Where.
        at: usize,
        /// What the unpacker says.
        why: String,
    },
    /// Unpacked it is larger than was allowed.
    #[error(
        "unpacked it is larger than {limit} bytes, which its size and this machine's memory allow; unpack it with trace-cmd convert --compression none"
    )]
    TooLarge {
        /// What was allowed, in bytes.
        limit: usize,
    },
    /// Its description of pages is none.
    #[error("its header_page: {0}")]
    Layout(#[from] FormatError),
}
