//! What happened on each CPU, as bars and marks on lines: the form in which a trace goes to a viewer.
//!
//! It knows nothing of where its content comes from, so that whoever explains events draws them with the same few words.
//! Each writer is one file: [`chrome`] and [`perfetto`].

pub mod chrome;
mod drawing;
mod lanes;
pub mod perfetto;

pub use drawing::Drawing;

/// Everything that is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What it shows: the machine, the command.
    pub title: String,
    /// Its lines from top to bottom.
    pub tracks: Vec<Track>,
}

/// One line: a CPU, or one kind of thing on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Track {
    /// What stands before it.
    pub name: String,
    /// What is on it, in any order.
    pub marks: Vec<Mark>,
}

/// A bar, or a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// When it begins, in nanoseconds of the trace clock.
    pub at_ns: u64,
    /// How long it lasts, in nanoseconds; nothing for a point in time.
    pub lasts_ns: Option<u64>,
    /// What is written on it.
    pub name: String,
    /// Kind of thing, by which viewers filter and colour: a class of interruption.
    pub category: String,
    /// What is shown when somebody points at it.
    pub facts: Vec<(String, Fact)>,
}

/// One thing that is known about a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Mark {
    /// Its end in nanoseconds; its beginning for a point in time.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        match self.lasts_ns {
            Some(lasts) => self.at_ns.saturating_add(lasts),
            None => self.at_ns,
        }
    }
}
