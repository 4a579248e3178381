//! Why a file could not be read: where in it, what stands there, and what was expected.

/// The failure of a reader.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nobody knows it.
    #[error("it is in none of the formats that quietcore reads")]
    Unknown,
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// It begins like one, and holds no measurement.
    #[error("it holds no measurement: {0}")]
    Nothing(&'static str),
    /// A place in a text.
    #[error("line {line}, column {column}: {problem}")]
    Text {
        /// From 1.
        line: u64,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there.
        problem: Problem,
    },
    /// A place in JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// More than is kept in memory.
    #[error("it has more than {most} {what}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// The file could not be read to its end.
    #[error("reading it failed: {0}")]
    Io(std::io::Error),
}

/// What is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No number.
    #[error("{0:?} is no number")]
    NotANumber(String),
    /// A number below zero.
    #[error("{0:?} is negative, and nothing here can be")]
    Negative(String),
    /// A number beyond 64 bits of nanoseconds or counts.
    #[error("{0:?} is too large")]
    TooLarge(String),
    /// Too few or too many columns.
    #[error("{found} columns, where {wanted} were expected")]
    Columns {
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A line that this format does not have.
    #[error("{0:?} does not belong here")]
    Unexpected(String),
    /// A row that is not above the one before it.
    #[error("the row {0:?} comes after a higher one, or twice: two measurements in one file?")]
    Order(String),
    /// A line that no tool writes.
    #[error("the line is longer than {0} bytes")]
    LongLine(usize),
    /// Bytes that are no UTF-8.
    #[error("this is no text")]
    NotText,
    /// What a HdrHistogram log holds in base64 could not be unpacked.
    #[error("the histogram does not unpack: {0}")]
    Packed(String),
}

/// A foreign word for a message: short.
pub(crate) fn quoted(word: &str) -> String {
    let mut text: String = word.chars().take(40).collect();
    if text.len() < word.len() {
        text.push_str("...");
    }
    text
}
