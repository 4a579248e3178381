//! Tracks whose time it is: the threads of a program as they are created, wait for a CPU and move to another one.

use crate::question::{FollowMode, Victim};
use std::collections::HashSet;

/// The victim from the view of one CPU.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    pids: HashSet<i32>,
    follow: FollowMode,
    /// Threads that could run on this CPU now but do not.
    waiting: HashSet<i32>,
}

impl Victims {
    pub(crate) fn of(victim: &Victim) -> Victims {
        Victims {
            pids: victim.pids.iter().copied().collect(),
            follow: victim.follow,
            waiting: HashSet::new(),
        }
    }

    /// Whether threads that one of them creates join it.
    pub(crate) fn grows(&self) -> bool {
        self.follow != FollowMode::NoThread
    }

    pub(crate) fn has(&self, pid: i32) -> bool {
        self.pids.contains(&pid)
    }

    /// Whether one of them could run here but does not.
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// One of those that could run here but do not.
    pub(crate) fn any_waiting(&self) -> Option<i32> {
        self.waiting.iter().copied().min()
    }

    /// Whether this one does.
    pub(crate) fn waits_for(&self, pid: i32) -> bool {
        self.waiting.contains(&pid)
    }

    /// It will never run again.
    pub(crate) fn end_thread(&mut self, pid: i32) {
        self.waiting.remove(&pid);
        if self.follow != FollowMode::NoThread {
            self.pids.remove(&pid);
        }
    }

    /// A thread created another one.
    pub(crate) fn create_thread(&mut self, parent: i32, child: i32, of_process: bool) {
        let joins = match self.follow {
            FollowMode::NoThread => false,
            FollowMode::Threads => of_process,
            FollowMode::Children => true,
        };
        if joins && self.has(parent) {
            self.pids.insert(child);
        } else if self.follow != FollowMode::NoThread {
            // The number of an ended thread now belongs to another thread.
            self.pids.remove(&child);
        }
    }

    /// From now on it could run here.
    pub(crate) fn set_runnable(&mut self, pid: i32) {
        if self.has(pid) {
            self.waiting.insert(pid);
        }
    }

    /// It runs here or elsewhere, or waits elsewhere.
    pub(crate) fn no_longer_waits(&mut self, pid: i32) {
        self.waiting.remove(&pid);
    }
}
