//! Defines why a file could not be read: the position, the actual content, and the expected content.

/// The failure of a reader.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Unknown format.
    #[error("it has none of the formats that quietcore reads")]
    Unknown,
    /// An empty file.
    #[error("it is empty")]
    Empty,
    /// The start matches the format, but the file contains no measurement.
    #[error("it contains no measurement: {0}")]
    Nothing(&'static str),
    /// A position in a text.
    #[error("line {line}, column {column}: {problem}")]
    Text {
        /// From 1.
        line: u64,
        /// From 1, in bytes.
        column: usize,
        /// The error there.
        problem: Problem,
    },
    /// A position in JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// More items than fit in the memory limit.
    #[error("it has more than {most} {what}")]
    TooMuch {
        /// The items.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The file could not be read to its end.
    #[error("reading it failed: {0}")]
    Io(std::io::Error),
}

/// The error at a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not a number.
    #[error("{0:?} is not a number")]
    NotANumber(String),
    /// A number below zero.
    #[error("{0:?} is negative, which is not possible here")]
    Negative(String),
    /// A number beyond 64 bits of nanoseconds or counts.
    #[error("{0:?} is too large")]
    TooLarge(String),
    /// Too few or too many columns.
    #[error("{found} columns instead of {expected}")]
    Columns {
        /// The actual number.
        found: usize,
        /// The expected number.
        expected: usize,
    },
    /// A line that is invalid in this format.
    #[error("{0:?} is not expected here")]
    Unexpected(String),
    /// A row that is not above the previous one.
    #[error("the row {0:?} comes after a higher one, or twice: two measurements in one file?")]
    Order(String),
    /// A line longer than any tool writes.
    #[error("the line is longer than {0} bytes")]
    LongLine(usize),
    /// Invalid UTF-8.
    #[error("this is not text")]
    NotText,
    /// The base64 content of an HdrHistogram log could not be decompressed.
    #[error("the histogram cannot be unpacked: {0}")]
    Packed(String),
}

/// Shortens an external word for a message.
pub(crate) fn quoted(word: &str) -> String {
    let mut text: String = word.chars().take(40).collect();
    if text.len() < word.len() {
        text.push_str("...");
    }
    text
}
