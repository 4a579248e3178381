//! A program inside the kernel, where that tells when it left user mode and when it goes back (context tracking, on CPUs in
//! `nohz_full`): time there that no event accounts for is known to be no time of the program.
//!
//! Such a blank belongs to what lies beside it as the edges of measured gaps do: the way into and out of an interruption is
//! part of it while it is as short as usual, and all of the way into and out of what the program asked for is its own.
//! A blank beside nothing is stolen, and nobody is named. Whose a blank is shows what comes after it.

use super::Cpu;
use crate::gaps::{Edge, Gap, Way};
use std::collections::HashSet;

/// What lies before a blank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// Nothing: the program has just left user mode.
    #[default]
    Nothing,
    /// Something that the program asked for, with its serial, and its row when it has ended.
    Own(u64, Option<usize>),
    /// Somebody else, the same way.
    Taken(u64, Option<usize>),
}

/// What comes after a blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The program goes on, or nobody looked any longer.
    Nothing,
    /// Something that the program asked for.
    Own,
    /// Somebody else, with the serial.
    Taken(u64),
}

/// The stay in the kernel that is in progress.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// The current thread of the program is in the kernel.
    is_inside: bool,
    /// Threads of which every way in and out has been told since the first one.
    followed: HashSet<i32>,
    before: Before,
    blank: Option<Gap>,
}

impl Inside {
    pub(super) const fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// A thread of the program has the CPU from now on. One that had it before was left in the kernel, and goes on there.
    pub(super) fn resumes(&mut self, pid: i32) {
        self.is_inside = self.followed.contains(&pid);
    }

    /// Nothing is known any more.
    pub(super) fn lost(&mut self) {
        self.is_inside = false;
        self.followed.clear();
    }

    /// What is told of a thread elsewhere is not told here.
    pub(super) fn gone(&mut self, pid: i32) {
        self.followed.remove(&pid);
    }

    /// Time of the program in the kernel without an event.
    pub(super) fn blank(&mut self, span: Gap) {
        match &mut self.blank {
            Some(blank) => blank.end = span.end,
            None => self.blank = Some(span),
        }
    }

    /// What the program asked for has the time now.
    pub(super) const fn is_own(&mut self, serial: u64) {
        self.before = Before::Own(serial, None);
    }

    /// Somebody else has it.
    pub(super) const fn is_taken(&mut self, serial: u64) {
        self.before = Before::Taken(serial, None);
    }

    /// Nobody but the program has it.
    pub(super) const fn is_over(&mut self) {
        self.before = Before::Nothing;
    }

    /// Something has ended and is in that row.
    pub(super) fn ended(&mut self, serial: u64, place: usize) {
        match &mut self.before {
            Before::Own(of, row) | Before::Taken(of, row) if *of == serial => *row = Some(place),
            _ => {}
        }
    }

    /// The way from user mode to what the program asked for, in nanoseconds, if that is what the blank is.
    pub(super) fn way_in_ns(&mut self) -> u64 {
        match (self.before, self.blank) {
            (Before::Nothing, Some(blank)) => {
                self.blank = None;
                blank.end - blank.start
            }
            _ => 0,
        }
    }
}

impl Cpu {
    /// A thread of the program has left user mode.
    pub(crate) fn leaves_user(&mut self, pid: i32) {
        self.inside.is_inside = true;
        self.inside.followed.insert(pid);
    }

    /// It goes back there. What it was in the middle of has ended.
    pub(crate) fn enters_user(&mut self, pid: i32) {
        self.end_task_contexts(pid, |what| what.is_own());
        self.resolve(After::Nothing);
        self.inside.is_over();
        self.inside.is_inside = false;
        self.inside.followed.insert(pid);
    }

    /// Who had the blank is decided by what comes after it.
    pub(super) fn resolve(&mut self, after: After) {
        let Some(blank) = self.inside.blank.take() else {
            return;
        };
        let len_ns = blank.end - blank.start;
        let edge = |way, beside| Edge { way, len_ns, beside };
        match (self.inside.before, after) {
            (Before::Own(_, Some(place)), _) => {
                self.leave_gap();
                self.stories.end();
                self.own.transition(place, len_ns);
            }
            // The way in has been taken already, and what has not ended has no blank after it.
            (Before::Own(_, None), _) | (Before::Nothing, After::Own) => {}
            (Before::Taken(beside, place), after) => {
                self.take(blank, None);
                let edge = edge(Way::of(true, matches!(after, After::Taken(_))), beside);
                match place {
                    Some(place) => self.decide(edge, place),
                    None => self.waiting.push(edge),
                }
            }
            (Before::Nothing, After::Taken(beside)) => {
                self.take(blank, None);
                self.waiting.push(edge(Way::In, beside));
            }
            (Before::Nothing, After::Nothing) => {
                self.take(blank, None);
                self.unexplained_ns += len_ns;
            }
        }
    }
}
