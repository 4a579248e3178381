//! Lines of a text by their place in it.

use std::ops::Range;

/// The line, from 1, in which a span of bytes begins.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Lines of places that are asked for in their order: the text is gone through once.
#[derive(Default)]
pub(super) struct Lines {
    seen: usize,
    ends: usize,
}

impl Lines {
    /// The line, from 1, in which a span of bytes begins.
    pub fn of(&mut self, text: &str, span: &Range<usize>) -> usize {
        let Some(new) = text.as_bytes().get(self.seen..span.start) else {
            return line_of(text, span);
        };
        self.ends += new.iter().filter(|&&byte| byte == b'\n').count();
        self.seen = span.start;
        self.ends + 1
    }
}
