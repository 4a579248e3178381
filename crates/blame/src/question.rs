//! Defines what to analyse: which CPUs, whose time, and the window.

use crate::gaps::Gap;
use crate::stories::GapSelection;
use std::collections::HashMap;

/// Which threads join the known ones because one of them created them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowMode {
    /// None.
    #[default]
    NoThread,
    /// Those of the same process.
    Threads,
    /// Those of child processes too.
    Children,
}

/// Whose time it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victim {
    /// The threads.
    pub pids: Vec<i32>,
    /// Which others join them.
    pub follow: FollowMode,
}

/// One requested CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameTarget {
    /// Its number.
    pub cpu: u32,
    /// Whose time it is there.
    pub victim: Victim,
    /// Start and end, on the trace clock.
    pub window: Gap,
    /// Gaps that the victim measured itself; `None` if events are the only source.
    pub gaps: Option<Vec<Gap>>,
}

/// The complete request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlameQuestion {
    /// Each CPU once.
    pub targets: Vec<BlameTarget>,
    /// Names of threads known beforehand (`saved_cmdlines`).
    pub comms: HashMap<i32, String>,
    /// Which gaps to report individually.
    pub keep: GapSelection,
}
