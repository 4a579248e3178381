//! Why a text of the kernel or of the user could not be read.

/// A text that does not have the wanted form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}: {why}")]
pub struct ParseError {
    /// The text, shortened when long.
    pub text: String,
    /// The form that was wanted: `a CPU list`, `a CPU mask`, `a number` ...
    pub wanted: &'static str,
    /// What is wrong.
    pub why: String,
}
