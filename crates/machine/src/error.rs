//! Defines the error for a text of the kernel or of the user that cannot be parsed.

/// A text that does not have the expected format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}: {why}")]
pub struct ParseError {
    /// The text, shortened if it is long.
    pub text: String,
    /// The expected format: `a CPU list`, `a CPU mask`, `a number` ...
    pub expected: &'static str,
    /// The problem.
    pub why: String,
}
