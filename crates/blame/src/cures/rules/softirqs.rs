//! The rules of softirqs: timers, RCU callbacks, packets, disk requests, tasklets (`kernel/softirq.c`).

use super::CureCase;
use crate::context::is_kernel_thread;
use crate::cures::Cure;
use machine::CpuId;

impl CureCase<'_> {
    pub(super) fn soft_timer(&self) -> Cure {
        match self.thread() {
            Some(_) => self.requester_cure("a timer runs on the CPU of the thread that set it"),
            None => self.context.knob(
                self.cpu,
                "cpu_cycle",
                "timers that earlier programs set here move to other CPUs when this CPU goes offline and online",
            ),
        }
    }

    pub(super) fn rcu(&self) -> Cure {
        let offloaded = |cpus: &machine::CpuSet| cpus.contains(CpuId(self.cpu));
        if self.context.rcu_nocbs.as_ref().is_some_and(offloaded) {
            return Cure::nothing(
                "the RCU callbacks of this CPU already run elsewhere (rcu_nocbs=); the remaining softirq reports to \
                 RCU that the CPU passed through the kernel",
            );
        }
        self.context
            .boot("RCU callbacks run elsewhere only for the CPUs of rcu_nocbs=, which nohz_full= includes")
    }

    pub(super) fn network(&self) -> Cure {
        if let Some(irq) = self.irq_of_culprit() {
            return self.interrupt(irq);
        }
        match self.thread() {
            Some((comm, pid)) if !is_kernel_thread(comm) => self.context.leave(
                self.cpu,
                pid,
                &format!(
                    "{} sends to this machine itself, and the packet is received on the sender's CPU",
                    self.thread_text()
                ),
            ),
            _ => self.context.knob(
                self.cpu,
                "rps_cpus",
                "another CPU passes packets to this CPU (RPS), or a thread here sends them",
            ),
        }
    }

    pub(super) fn block(&self) -> Cure {
        // With threaded interrupts the thread completes the request, and `rq_affinity` has no effect (`block/blk-mq.c`).
        if let Some(irq) = self.irq_of_thread_here() {
            return self.interrupt(irq);
        }
        let irq = self.irq_of_culprit().filter(|irq| self.is_movable(*irq));
        match (self.thread(), irq) {
            (Some((comm, pid)), _)
                if self.culprit().is_some_and(|by| by.cpu == self.cpu) && !is_kernel_thread(comm) =>
            {
                self.context.leave(
                    self.cpu,
                    pid,
                    "a disk request completes on the CPU that sent it, and this thread sends from here",
                )
            }
            (_, Some(irq)) => self.interrupt(irq),
            (Some(_), None) => self.context.knob(
                self.cpu,
                "rq_affinity=2",
                &format!(
                    "requests of {} then complete on the CPU that sent them",
                    self.thread_text()
                ),
            ),
            (None, None) => self.context.knob(
                self.cpu,
                "rq_affinity=2",
                "requests then complete on the CPU that sent them",
            ),
        }
    }

    pub(super) fn tasklet(&self) -> Cure {
        match self.irq_of_culprit() {
            Some(irq) => self.interrupt(irq),
            None => self
                .context
                .knob(self.cpu, "irq_affinity", "a driver's interrupt on this CPU raised it"),
        }
    }
}
