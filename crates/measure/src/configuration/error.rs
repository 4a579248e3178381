//! Errors in a run's description, with their position.

/// An error: its cause, its position, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", self.position())]
pub struct ConfigurationError {
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 for the file as a whole.
    pub column: usize,
    /// The cause.
    pub why: String,
    /// How to fix it.
    pub next: String,
}

impl ConfigurationError {
    /// An error at a position of the file.
    pub fn at((line, column): (usize, usize), why: impl Into<String>, next: impl Into<String>) -> Self {
        ConfigurationError {
            line,
            column,
            why: why.into(),
            next: next.into(),
        }
    }

    /// An error of the whole file.
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

/// Distance in bytes between two cached character counts.
const STEP: usize = 64;

/// Lines and columns of a text, indexed once, so that each lookup costs the same.
pub(super) struct TextIndex<'a> {
    text: &'a str,
    /// Start of each line.
    lines: Vec<usize>,
    /// Number of characters before every [`STEP`]th byte.
    letters: Vec<usize>,
}

impl<'a> TextIndex<'a> {
    pub fn new(text: &'a str) -> TextIndex<'a> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        let mut letters = vec![0];
        for step in text.as_bytes().chunks(STEP) {
            letters.push(letters.last().copied().unwrap_or(0) + count(step));
        }
        TextIndex { text, lines, letters }
    }

    /// Line and column of a byte, both from 1; the column counts characters. An offset behind the text is its end.
    pub fn at(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        (line, self.letters_before(offset) - self.letters_before(start) + 1)
    }

    fn letters_before(&self, offset: usize) -> usize {
        let step = offset / STEP;
        let rest = self.text.as_bytes().get(step * STEP..offset).unwrap_or_default();
        self.letters.get(step).copied().unwrap_or(0) + count(rest)
    }
}

/// Number of characters that start in these bytes of a text.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_characters() {
        let text = "a\u{e9}\u{20ac}b\n\n".repeat(40) + "\u{1f600}";
        let places = TextIndex::new(&text);
        for (offset, _) in text.char_indices().chain([(text.len(), ' '), (text.len() + 9, ' ')]) {
            let before = text.get(..offset).unwrap_or(&text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            assert_eq!(places.at(offset), (line, column), "{offset}");
        }
        assert_eq!(TextIndex::new("").at(0), (1, 1));
    }
}
