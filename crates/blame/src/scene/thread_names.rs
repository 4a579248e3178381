//! Tracks names of threads, and threads whose creation may be among lost events: they may be children of the observed
//! program, so it is uncertain that they are unrelated.

use super::BlameState;
use crate::answer::Confidence;
use crate::cpu::CpuTracker;
use std::collections::HashMap;

impl BlameState<'_> {
    /// Adds thread names that no event reported.
    pub(crate) fn known(&mut self, comms: HashMap<i32, String>) {
        for (pid, comm) in comms {
            if self.recent_comms.get(&pid).is_none() {
                self.record_unknown_thread(pid);
                self.comms.entry(pid).or_insert(comm);
            }
        }
    }

    /// The name of a thread, from the last event or from the names known beforehand.
    pub(super) fn comm(&self, pid: i32) -> String {
        match pid {
            0 => "<idle>".to_owned(),
            pid => self
                .recent_comms
                .get(&pid)
                .or_else(|| self.comms.get(&pid))
                .cloned()
                .unwrap_or_else(|| "<...>".to_owned()),
        }
    }

    /// A thread that was unknown before the first loss, and whose creation no event reported, may be a child of a known one.
    pub(super) fn record_unknown_thread(&mut self, pid: i32) {
        if self.has_lost && pid != 0 && self.recent_comms.get(&pid).is_none() && !self.comms.contains_key(&pid) {
            self.first_seen_after_loss.insert(pid, ());
        }
    }

    /// The thread that runs instead of the victim may be one of its children.
    pub(super) fn may_be_child(&self, cpu: &mut CpuTracker, pid: i32) {
        let is_unsure = cpu.victims.grows() && self.first_seen_after_loss.get(&pid).is_some();
        if let Some(task) = cpu.instead().filter(|_| is_unsure) {
            task.confidence = Confidence::Inferred;
        }
    }
}
