//! A line of a pane before it has a place: pieces of text and what they mean.
//!
//! A machine has more CPUs than a screen has lines, so the text of a row is made when somebody wants to see it.

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

/// Pieces of text, and what each means.
pub type Pieces = Vec<(String, Tone)>;

/// One line of a pane.
pub struct Row<'a> {
    /// What it is about, the same from moment to moment.
    pub key: String,
    /// The CPU that it is about.
    pub cpu: Option<CpuId>,
    write: Box<dyn Fn() -> Pieces + 'a>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        key: impl Into<String>,
        cpu: Option<CpuId>,
        write: impl Fn() -> Pieces + 'a,
    ) -> Row<'a> {
        Row {
            key: key.into(),
            cpu,
            write: Box::new(write),
        }
    }

    /// Its text, made now.
    #[must_use]
    pub fn pieces(&self) -> Pieces {
        #[cfg(test)]
        WRITTEN.with(|written| written.set(written.get() + 1));
        (self.write)()
    }

    /// All of its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces().into_iter().map(|(text, _)| text).collect()
    }
}

#[cfg(test)]
thread_local! {
    /// Rows whose text this thread has made.
    pub(crate) static WRITTEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A piece of text.
pub(crate) fn piece(text: impl Into<String>, tone: Tone) -> (String, Tone) {
    (text.into(), tone)
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
