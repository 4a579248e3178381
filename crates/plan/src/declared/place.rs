//! Lines of a text by their place in it.

use std::ops::Range;

/// The line, from 1, in which a span of bytes begins.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}
