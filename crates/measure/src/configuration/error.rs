//! What is wrong with a described run, and where.

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", self.position())]
pub struct ConfigurationError {
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 for the file as a whole.
    pub column: usize,
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub next: String,
}

impl ConfigurationError {
    /// At a place of the file.
    pub fn at((line, column): (usize, usize), why: impl Into<String>, next: impl Into<String>) -> Self {
        ConfigurationError {
            line,
            column,
            why: why.into(),
            next: next.into(),
        }
    }

    /// Of the whole file.
    pub fn of_file(why: impl Into<String>, next: impl Into<String>) -> Self {
        ConfigurationError::at((0, 0), why, next)
    }

    fn position(&self) -> String {
        match self.line {
            0 => String::new(),
            line => format!("line {line}, column {}: ", self.column),
        }
    }
}

/// Line and column of a byte, both from 1; the column counts characters.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
