//! Threads whose birth may be among events that were lost: they may be children of the program that is watched, so nobody can be
//! certain that they are strangers.

use super::Scene;
use crate::answer::Confidence;
use crate::cpu::Cpu;

impl Scene<'_> {
    /// A thread that was not known before the first loss, and whose birth nobody has told, may be a child of one that is.
    pub(super) fn hear_of(&mut self, pid: i32) {
        if self.has_lost && pid != 0 && self.told.get(&pid).is_none() && !self.comms.contains_key(&pid) {
            self.unborn.put(pid, ());
        }
    }

    /// Who runs in the victim's place may be one of its children.
    pub(super) fn may_be_child(&self, cpu: &mut Cpu, pid: i32) {
        let is_unsure = cpu.victims.grows() && self.unborn.get(&pid).is_some();
        if let Some(task) = cpu.instead().filter(|_| is_unsure) {
            task.confidence = Confidence::Inferred;
        }
    }
}
