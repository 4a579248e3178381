//! Represents events on each CPU as bars and marks on lines, for trace viewers.
//!
//! It is independent of the source of its content, so that every producer draws with the same few types.
//! Each writer is one file: [`chrome`] and [`perfetto`].

pub mod chrome;
mod drawing;
mod lanes;
pub mod perfetto;

pub use drawing::Drawing;

/// Everything that is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Its title: the machine, the command.
    pub title: String,
    /// Its lines from top to bottom.
    pub tracks: Vec<Track>,
}

/// One line: a CPU, or one kind of event on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// Its label.
    pub name: String,
    /// Its marks, in any order.
    pub marks: Vec<Mark>,
}

/// A bar, or a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its start, in nanoseconds of the trace clock.
    pub at_ns: u64,
    /// Its duration, in nanoseconds; `None` for a point in time.
    pub lasts_ns: Option<u64>,
    /// Its label.
    pub name: String,
    /// Its category, by which viewers filter and colour: a class of interruption.
    pub category: String,
    /// Details that the viewer displays on selection.
    pub facts: Vec<(String, Fact)>,
}

/// One detail of a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Mark {
    /// Its end in nanoseconds; its start for a point in time.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        match self.lasts_ns {
            Some(lasts) => self.at_ns.saturating_add(lasts),
            None => self.at_ns,
        }
    }
}
