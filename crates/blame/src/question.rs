//! What is asked: which CPUs, whose time, from when to when.

use crate::gaps::Gap;
use crate::stories::Keep;
use std::collections::HashMap;

/// Threads that join those that are known, because one of them made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// None.
    #[default]
    Nobody,
    /// Those of the same process.
    Threads,
    /// Those of child processes, too.
    Children,
}

/// Whose time it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victim {
    /// Its threads.
    pub pids: Vec<i32>,
    /// Which others become its threads.
    pub follow: Follow,
}

/// One CPU that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which.
    pub cpu: u32,
    /// Whose time it is there.
    pub victim: Victim,
    /// From when to when, on the trace clock.
    pub window: Gap,
    /// Gaps that the victim saw itself; nothing when events alone have to tell.
    pub gaps: Option<Vec<Gap>>,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Each CPU once.
    pub targets: Vec<Target>,
    /// Names of threads that are known beforehand (`saved_cmdlines`).
    pub comms: HashMap<i32, String>,
    /// Which gaps are told one by one.
    pub keep: Keep,
}
