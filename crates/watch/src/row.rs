//! Defines a row of a pane before layout: pieces of text and their tone.
//!
//! A machine has more CPUs than a screen has lines, so the text of a row is created when it becomes visible.

use machine::CpuId;

/// The meaning of a piece of text. A colour follows from it, but never carries information that the text lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Normal.
    Plain,
    /// Less important.
    Quiet,
    /// Good.
    Good,
    /// Needs attention.
    Warning,
    /// Bad.
    Bad,
}

/// Pieces of text with their tones.
pub type StyledText = Vec<(String, Tone)>;

/// One line of a pane.
pub struct PaneRow<'a> {
    /// What it is about; the same across moments.
    pub key: String,
    /// The CPU that it is about.
    pub cpu: Option<CpuId>,
    write: Box<dyn Fn() -> StyledText + 'a>,
}

impl<'a> PaneRow<'a> {
    pub(crate) fn new(key: impl Into<String>, cpu: Option<CpuId>, write: impl Fn() -> StyledText + 'a) -> PaneRow<'a> {
        PaneRow {
            key: key.into(),
            cpu,
            write: Box::new(write),
        }
    }

    /// Its pieces, created now.
    #[must_use]
    pub fn pieces(&self) -> StyledText {
        #[cfg(test)]
        WRITTEN.with(|written| written.set(written.get() + 1));
        (self.write)()
    }

    /// Its whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces().into_iter().map(|(text, _)| text).collect()
    }
}

#[cfg(test)]
thread_local! {
    /// The number of rows whose text this thread has created.
    pub(crate) static WRITTEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A piece of text.
pub(crate) fn piece(text: impl Into<String>, tone: Tone) -> (String, Tone) {
    (text.into(), tone)
}

/// A foreign name in a column of fixed width: escaped, cut with `..`, padded with blanks.
pub(crate) fn name(text: &str, width: usize) -> String {
    let safe = report::safe(text);
    let cut = if safe.chars().count() > width {
        let shortened: String = safe.chars().take(width.saturating_sub(2)).collect();
        format!("{shortened}..")
    } else {
        safe
    };
    format!("{cut:width$}")
}
