//! A line of a pane before it has a place: pieces of text and what they mean.

use machine::CpuId;

/// What a piece of text means; a colour follows from it, and never carries what the text does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Of less weight.
    Quiet,
    /// As it should be.
    Good,
    /// Weaker than it looks.
    Care,
    /// Wrong.
    Bad,
}

/// One line of a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is about, the same from moment to moment.
    pub key: String,
    /// The CPU that it is about.
    pub cpu: Option<CpuId>,
    /// Its text.
    pub pieces: Vec<(String, Tone)>,
}

impl Row {
    pub(crate) fn new(key: impl Into<String>, cpu: Option<CpuId>) -> Row {
        Row {
            key: key.into(),
            cpu,
            pieces: Vec::new(),
        }
    }

    pub(crate) fn piece(mut self, text: impl Into<String>, tone: Tone) -> Row {
        self.pieces.push((text.into(), tone));
        self
    }

    /// All of its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// A foreign name in a column of fixed width: made safe, cut with `..`, filled with blanks.
pub(crate) fn name(text: &str, width: usize) -> String {
    let safe = report::safe(text);
    let cut = if safe.chars().count() > width {
        let kept: String = safe.chars().take(width.saturating_sub(2)).collect();
        format!("{kept}..")
    } else {
        safe
    };
    format!("{cut:width$}")
}
