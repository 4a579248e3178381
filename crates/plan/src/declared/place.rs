//! Finds the line of a position in a text.

use std::ops::Range;

/// The line, from 1, in which a span of bytes starts.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Lines of positions that are requested in ascending order: the text is scanned once.
#[derive(Default)]
pub(super) struct Lines {
    seen: usize,
    ends: usize,
}

impl Lines {
    /// The line, from 1, in which a span of bytes starts.
    pub fn of(&mut self, text: &str, span: &Range<usize>) -> usize {
        let Some(new) = text.as_bytes().get(self.seen..span.start) else {
            return line_of(text, span);
        };
        self.ends += new.iter().filter(|&&byte| byte == b'\n').count();
        self.seen = span.start;
        self.ends + 1
    }
}
