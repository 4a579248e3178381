//! Tracks one CPU of a program without measured gaps: only events show when it ran there, could have run, and did not.

use super::inside::BlankSuccessor;
use super::{CpuTracker, ThreadStateChange};
use crate::context::ExecutionContext;
use crate::gaps::Gap;

/// Changes that wait for an event of this CPU.
const MOST_CHANGES: usize = 65_536;

impl CpuTracker {
    /// Without a measurement: all time of others while the victim could run. The victim's requests to the kernel are its own
    /// work.
    pub(super) fn charge_all(&mut self, from: u64, to: u64) {
        let runs = self.is_victim(self.current);
        if !runs && !self.victims.waits() {
            self.resolve(BlankSuccessor::Nothing);
            self.longest_run_ns = self.longest_run_ns.max(from.saturating_sub(self.running_since));
            self.resume_program();
            self.running_since = to;
            self.inside.is_over();
            return;
        }
        if !runs {
            // A thread that reuses the number of another one does not continue its requests.
            self.end_task_contexts(self.current, |what| what.is_own());
        }
        let (len, span) = (to - from, Gap { start: from, end: to });
        self.runnable_ns += len;
        let owner = self.owner().map(|owner| {
            owner.in_gaps_ns += len;
            (owner.serial, runs && owner.what.is_own())
        });
        match owner {
            Some((serial, true)) => {
                let way_in_ns = self.inside.way_in_ns();
                if let Some(owner) = self.owner() {
                    owner.in_gaps_ns += way_in_ns;
                    owner.way_in_ns += way_in_ns;
                }
                self.resolve(BlankSuccessor::Own);
                self.resume_program();
                self.inside.is_own(serial);
            }
            Some((serial, false)) => {
                self.resolve(BlankSuccessor::Interrupted(serial));
                self.take(span, Some(serial));
                self.inside.start_interruption(serial);
            }
            None if self.inside.is_inside() => self.inside.blank(span),
            None => {
                self.resolve(BlankSuccessor::Nothing);
                self.resume_program();
                self.inside.is_over();
            }
        }
    }

    /// An interruption has the time: one piece of a gap, with its context if an event reports one.
    pub(super) fn take(&mut self, span: Gap, serial: Option<u64>) {
        self.stories.piece(span, serial);
        if !self.in_gap {
            self.gap_count += 1;
            self.longest_run_ns = self.longest_run_ns.max(span.start.saturating_sub(self.running_since));
            self.gap_since = span.start;
        }
        self.stolen_ns += span.end - span.start;
        self.running_since = span.end;
        self.in_gap = true;
    }

    /// No time is taken from the program now.
    pub(super) fn resume_program(&mut self) {
        self.leave_gap();
        self.stories.end();
    }

    /// The program has its CPU again, or no longer needs it.
    pub(super) fn leave_gap(&mut self) {
        if std::mem::take(&mut self.in_gap) {
            self.record_gap(Gap {
                start: self.gap_since,
                end: self.running_since,
            });
        }
    }

    /// This or another CPU reports where a thread is from then on. The change takes effect with the next event of this CPU: if
    /// that reports lost events, it is unknown what had the CPU since.
    pub(crate) fn elsewhere(&mut self, at: u64, pid: i32, change: ThreadStateChange) {
        if self.is_measured() || !self.is_victim(pid) {
            return;
        }
        self.changes.push((at, pid, change));
        if self.changes.len() >= MOST_CHANGES {
            self.settle();
        }
    }

    /// Applies the changes that other CPUs reported.
    pub(super) fn settle(&mut self) {
        for (at, pid, change) in std::mem::take(&mut self.changes) {
            let waits = self.victims.waits_for(pid);
            let changes = match change {
                ThreadStateChange::Runnable => self.current != pid && self.is_victim(pid) && !waits,
                ThreadStateChange::Left => waits,
            };
            if !changes {
                continue;
            }
            if !self.blind {
                self.charge_to(at);
            }
            match change {
                ThreadStateChange::Runnable => self.victims.set_runnable(pid),
                ThreadStateChange::Left => self.victims.no_longer_waits(pid),
            }
        }
    }

    /// A thread has ended, and with it what it had in progress.
    pub(crate) fn end_thread(&mut self, pid: i32) {
        self.end_task_contexts(pid, |_| true);
        self.inside.thread_left(pid);
        self.victims.end_thread(pid);
    }

    /// A thread moves to another CPU: its unfinished requests to the kernel end here.
    pub(crate) fn move_away(&mut self, pid: i32) -> Vec<ExecutionContext> {
        self.inside.thread_left(pid);
        if self.is_measured() {
            return Vec::new();
        }
        self.end_task_contexts(pid, |what| what.is_own())
    }

    /// They continue here.
    pub(crate) fn move_here(&mut self, pid: i32, contexts: Vec<ExecutionContext>) {
        if self.is_measured() || !self.is_victim(pid) {
            return;
        }
        for context in contexts {
            let mut rest = self.context(context.what);
            rest.culprit = context.culprit;
            rest.is_rest = true;
            self.stacks.entry(pid).or_default().push(rest);
        }
    }
}
