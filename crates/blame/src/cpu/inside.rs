//! Attributes a program's time inside the kernel, if the kernel reports when the program leaves and enters user mode (context
//! tracking, on `nohz_full` CPUs): time there without an event is known not to be the program's.
//!
//! Such a blank belongs to its neighbours, like the edges of measured gaps: the way into and out of an interruption is part
//! of it if its length is usual, and all of the way into and out of a request of the program is the program's own.
//! A blank without neighbours is stolen time without a culprit. What comes after a blank decides.

use super::CpuTracker;
use crate::gaps::{Edge, EdgeDirection, Gap};
use std::collections::HashSet;

/// What precedes a blank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BlankPredecessor {
    /// Nothing: the program has just left user mode.
    #[default]
    Nothing,
    /// A request of the program, with its serial, and its row if it has ended.
    Own(u64, Option<usize>),
    /// An interruption, likewise.
    Interrupted(u64, Option<usize>),
}

/// What follows a blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlankSuccessor {
    /// The program continues, or observation ended.
    Nothing,
    /// A request of the program.
    Own,
    /// An interruption, with its serial.
    Interrupted(u64),
}

/// The current stay in the kernel.
#[derive(Debug, Default)]
pub(super) struct KernelStay {
    /// The current thread of the program is in the kernel.
    is_inside: bool,
    /// Threads whose entries and exits have all been reported since the first one.
    followed: HashSet<i32>,
    before: BlankPredecessor,
    blank: Option<Gap>,
}

impl KernelStay {
    pub(super) const fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// A thread of the program has the CPU from now on. A previous one was left in the kernel, and continues there.
    pub(super) fn resumes(&mut self, pid: i32) {
        self.is_inside = self.followed.contains(&pid);
    }

    /// Nothing is known any more.
    pub(super) fn lost(&mut self) {
        self.is_inside = false;
        self.followed.clear();
    }

    /// The thread left this CPU: its entries and exits elsewhere are not reported here.
    pub(super) fn thread_left(&mut self, pid: i32) {
        self.followed.remove(&pid);
    }

    /// Time of the program in the kernel without an event.
    pub(super) fn blank(&mut self, span: Gap) {
        match &mut self.blank {
            Some(blank) => blank.end = span.end,
            None => self.blank = Some(span),
        }
    }

    /// A request of the program has the time now.
    pub(super) const fn is_own(&mut self, serial: u64) {
        self.before = BlankPredecessor::Own(serial, None);
    }

    /// An interruption has the time now.
    pub(super) const fn start_interruption(&mut self, serial: u64) {
        self.before = BlankPredecessor::Interrupted(serial, None);
    }

    /// Only the program has the time now.
    pub(super) const fn is_over(&mut self) {
        self.before = BlankPredecessor::Nothing;
    }

    /// A context has ended and is counted in that row.
    pub(super) fn end_interruption(&mut self, serial: u64, place: usize) {
        match &mut self.before {
            BlankPredecessor::Own(of, row) | BlankPredecessor::Interrupted(of, row) if *of == serial => {
                *row = Some(place)
            }
            _ => {}
        }
    }

    /// The time from user mode to the program's request, in nanoseconds, if the blank is that.
    pub(super) fn way_in_ns(&mut self) -> u64 {
        match (self.before, self.blank) {
            (BlankPredecessor::Nothing, Some(blank)) => {
                self.blank = None;
                blank.end - blank.start
            }
            _ => 0,
        }
    }
}

impl CpuTracker {
    /// A thread of the program has left user mode.
    pub(crate) fn leaves_user(&mut self, pid: i32) {
        self.inside.is_inside = true;
        self.inside.followed.insert(pid);
    }

    /// It returns to user mode. Its requests have ended.
    pub(crate) fn enters_user(&mut self, pid: i32) {
        self.end_task_contexts(pid, |what| what.is_own());
        self.resolve(BlankSuccessor::Nothing);
        self.inside.is_over();
        self.inside.is_inside = false;
        self.inside.followed.insert(pid);
    }

    /// Decides by what follows a blank which context it belongs to.
    pub(super) fn resolve(&mut self, after: BlankSuccessor) {
        let Some(blank) = self.inside.blank.take() else {
            return;
        };
        let len_ns = blank.end - blank.start;
        let edge = |way, beside| Edge { way, len_ns, beside };
        match (self.inside.before, after) {
            (BlankPredecessor::Own(_, Some(place)), _) => {
                self.leave_gap();
                self.stories.end();
                self.own.transition(place, len_ns);
            }
            // The way in has already been taken, and an unfinished request has no blank after it.
            (BlankPredecessor::Own(_, None), _) | (BlankPredecessor::Nothing, BlankSuccessor::Own) => {}
            (BlankPredecessor::Interrupted(beside, place), after) => {
                self.take(blank, None);
                let edge = edge(
                    EdgeDirection::of(true, matches!(after, BlankSuccessor::Interrupted(_))),
                    beside,
                );
                match place {
                    Some(place) => self.decide(edge, place),
                    None => self.waiting.push(edge),
                }
            }
            (BlankPredecessor::Nothing, BlankSuccessor::Interrupted(beside)) => {
                self.take(blank, None);
                self.waiting.push(edge(EdgeDirection::In, beside));
            }
            (BlankPredecessor::Nothing, BlankSuccessor::Nothing) => {
                self.take(blank, None);
                self.unexplained_ns += len_ns;
            }
        }
    }
}
