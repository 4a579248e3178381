//! One CPU of a program that nobody measures: events alone say when it ran there, could have run, and did not.

use super::{Change, Cpu};
use crate::gaps::Gap;

/// Changes that wait for an event of this CPU itself.
const MOST_CHANGES: usize = 65_536;

impl Cpu {
    /// Without a measurement: all that is not the victim, while the victim wants the CPU. What it asks of the kernel it
    /// does itself.
    pub(super) fn charge_all(&mut self, from: u64, to: u64) {
        let runs = self.is_victim(self.current);
        if !runs && !self.victims.waits() {
            self.longest_run_ns = self.longest_run_ns.max(from.saturating_sub(self.ran_since));
            self.leave_gap();
            self.ran_since = to;
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
                self.gap_since = from;
            }
            self.stolen_ns += len;
            self.ran_since = to;
            self.in_gap = true;
        } else {
            self.leave_gap();
            self.stories.end();
        }
    }

    /// The program has its CPU again, or does not want it any more.
    pub(super) fn leave_gap(&mut self) {
        if std::mem::take(&mut self.in_gap) {
            self.ended(Gap {
                start: self.gap_since,
                end: self.ran_since,
            });
        }
    }

    /// Another CPU, or this one, tells where a thread is from then on. That counts when this CPU tells something itself: if
    /// it tells that events of it are missing, nobody knows who had it meanwhile.
    pub(crate) fn elsewhere(&mut self, at: u64, pid: i32, change: Change) {
        if self.is_measured() || !self.is_victim(pid) {
            return;
        }
        self.changes.push((at, pid, change));
        if self.changes.len() >= MOST_CHANGES {
            self.settle();
        }
    }

    /// Takes over what others have told.
    pub(super) fn settle(&mut self) {
        for (at, pid, change) in std::mem::take(&mut self.changes) {
            let waits = self.victims.waits_for(pid);
            let changes = match change {
                Change::Wants => self.current != pid && self.is_victim(pid) && !waits,
                Change::Left => waits,
            };
            if !changes {
                continue;
            }
            if !self.blind {
                self.charge_to(at);
            }
            match change {
                Change::Wants => self.victims.wants(pid),
                Change::Left => self.victims.no_longer_waits(pid),
            }
        }
    }

    /// A thread has ended: what it was in the middle of is over.
    pub(crate) fn dead(&mut self, pid: i32) {
        self.end_task_contexts(pid, |_| true);
        self.victims.dead(pid);
    }
}
