//! Defines the errors in a description of events or in a page of the ring buffer.

/// An invalid `format`, `header_page` or `header_event` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A line has unexpected content.
    #[error("line {line}: expected {expected}, found {found:?}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The expected content.
        expected: &'static str,
        /// The start of the line.
        found: String,
    },
    /// The file ends without a required part.
    #[error("{missing} is missing")]
    Missing {
        /// The missing part.
        missing: &'static str,
    },
    /// Two events have the same number.
    #[error("{first} and {second} both have the number {id}")]
    Twice {
        /// The number.
        id: u16,
        /// The first one.
        first: String,
        /// The second one.
        second: String,
    },
}

/// A page with bytes that the kernel cannot have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Fewer bytes than the header of a page.
    #[error("a page of {len} bytes has no room for its head of {head}")]
    NoHead {
        /// Available bytes.
        len: usize,
        /// Size of a header.
        head: usize,
    },
    /// The page states more data than it holds.
    #[error("the page says that it holds {stated} bytes, there are {len}")]
    TooLong {
        /// The stated size.
        stated: usize,
        /// Available bytes.
        len: usize,
    },
    /// An entry that starts within the page's data and ends outside.
    #[error("the entry at byte {at} needs {needs} bytes, the page has {left} left")]
    Entry {
        /// Its offset in the data.
        at: usize,
        /// Its size.
        needs: usize,
        /// Remaining bytes.
        left: usize,
    },
}
