//! What is wrong with a study file, said with its line.

/// What is wrong with a study file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", place(*line))]
pub struct StudyError {
    /// Where, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl StudyError {
    pub(crate) fn new(line: usize, what: impl Into<String>, next: impl Into<String>) -> StudyError {
        // Texts of the file are repeated here; a terminal must not obey them.
        let plain = |text: String| text.replace(char::is_control, "?");
        StudyError {
            line,
            what: plain(what.into()),
            next: plain(next.into()),
        }
    }
}

fn place(line: usize) -> String {
    match line {
        0 => String::new(),
        line => format!("line {line}: "),
    }
}
