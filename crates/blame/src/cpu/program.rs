//! One CPU of a program that nobody measures: events alone say when it ran there, could have run, and did not.

use super::Cpu;
use crate::gaps::Gap;

impl Cpu {
    /// Without a measurement: all that is not the victim, while the victim wants the CPU. What it asks of the kernel it
    /// does itself.
    pub(super) fn charge_all(&mut self, from: u64, to: u64) {
        let runs = self.is_victim(self.current);
        if !runs && !self.victims.waits() {
            self.longest_run_ns = self.longest_run_ns.max(from.saturating_sub(self.ran_since));
            self.ran_since = to;
            self.in_gap = false;
            self.stories.end();
            return;
        }
        let len = to - from;
        self.wanted_ns += len;
        let taken = self.owner().and_then(|owner| {
            owner.in_gaps_ns += len;
            (!(runs && owner.what.is_own())).then_some(owner.serial)
        });
        if taken.is_some() {
            self.stories.piece(Gap { start: from, end: to }, taken);
            if !self.in_gap {
                self.gap_count += 1;
                self.longest_run_ns = self.longest_run_ns.max(from.saturating_sub(self.ran_since));
            }
            self.stolen_ns += len;
            self.ran_since = to;
        } else {
            self.stories.end();
        }
        self.in_gap = taken.is_some();
    }

    /// A thread could run on this CPU from then on, or runs there already.
    pub(crate) fn wanted(&mut self, at: u64, pid: i32) {
        if self.current != pid && self.is_victim(pid) && !self.victims.waits_for(pid) {
            self.charge(at);
            self.victims.wants(pid);
        }
    }

    /// A thread runs, or waits, on another CPU from then on.
    pub(crate) fn left(&mut self, at: u64, pid: i32) {
        if self.victims.waits_for(pid) {
            self.charge(at);
            self.victims.no_longer_waits(pid);
        }
    }

    /// A thread has ended: what it was in the middle of is over.
    pub(crate) fn dead(&mut self, pid: i32) {
        self.end_task_contexts(pid, |_| true);
    }
}
