//! What can be wrong with a description of events or with a page of the ring buffer.

/// A `format`, `header_page` or `header_event` file that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A line says something else than such a file says there.
    #[error("line {line}: expected {expected}, found {found:?}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What belongs there.
        expected: &'static str,
        /// Its beginning.
        found: String,
    },
    /// The file ends without something that every such file has.
    #[error("{missing} is missing")]
    Missing {
        /// What.
        missing: &'static str,
    },
    /// Two events have one number.
    #[error("{first} and {second} both have the number {id}")]
    Twice {
        /// The number.
        id: u16,
        /// The one that came first.
        first: String,
        /// The other.
        second: String,
    },
}

/// A page whose bytes cannot be what the kernel wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Fewer bytes than the head of a page.
    #[error("a page of {len} bytes has no room for its head of {head}")]
    NoHead {
        /// Bytes there.
        len: usize,
        /// Bytes of a head.
        head: usize,
    },
    /// The page says that it holds more than it does.
    #[error("the page says that it holds {says} bytes, there are {len}")]
    TooLong {
        /// What the page says.
        says: usize,
        /// Bytes there.
        len: usize,
    },
    /// An entry that begins within the page's data and ends outside of it.
    #[error("the entry at byte {at} needs {needs} bytes, the page has {left} left")]
    Entry {
        /// Byte of the data where it begins.
        at: usize,
        /// Bytes that it needs.
        needs: usize,
        /// Bytes that are left.
        left: usize,
    },
}
