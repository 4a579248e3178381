//! Applies one rule per class, if the row's own function does not decide.

use super::functions::{Remedy, known};
use super::{Cure, CureContext};
use crate::answer::{Culprit, Interruption, InterruptionSubject, Link};
use crate::context::is_kernel_thread;
use machine::{CpuId, ImmovableReason, Interrupt};
use observe::Class;
use plan::takes;

mod softirqs;

/// One row of one CPU, on a machine.
struct CureCase<'a> {
    row: &'a Interruption,
    cpu: u32,
    context: &'a CureContext,
}

pub(super) fn of(row: &Interruption, cpu: u32, context: &CureContext) -> Cure {
    let case = CureCase { row, cpu, context };
    match known(case.functions()) {
        Some(remedy) => case.remedy(remedy),
        None => case.class(),
    }
}

impl CureCase<'_> {
    /// Functions that ran in it: those after the colon of its name, and the name itself if it is a function.
    fn functions(&self) -> impl Iterator<Item = &str> {
        let name = self.row.name.as_str();
        name.split_once(": ").map_or(name, |(_, rest)| rest).split(", ")
    }

    fn culprit(&self) -> Option<&Culprit> {
        self.row.culprit.as_ref()
    }

    /// The culprit, if it is a thread.
    fn thread(&self) -> Option<(&str, i32)> {
        let culprit = self.culprit().filter(|culprit| culprit.pid > 0)?;
        Some((culprit.comm.as_str(), culprit.pid))
    }

    /// The thread, as text.
    fn thread_text(&self) -> String {
        match self.culprit() {
            Some(culprit) if culprit.pid > 0 => {
                format!("{}[{}] on CPU {}", culprit.comm, culprit.pid, culprit.cpu)
            }
            Some(culprit) => match &culprit.via {
                Some(via) => format!("{via} on CPU {}", culprit.cpu),
                None => format!("CPU {}", culprit.cpu),
            },
            None => "an unknown thread".to_owned(),
        }
    }

    fn remedy(&self, remedy: Remedy) -> Cure {
        match remedy {
            Remedy::Tick => self.tick(),
            Remedy::Knob(knob, why) => self.context.knob(self.cpu, knob, why),
            Remedy::Requester(why) => self.requester_cure(why),
            Remedy::Partition(why) => self.context.isolate(self.cpu, why),
            Remedy::Domains(why) => self.context.leave_domains(self.cpu, why),
            Remedy::Rcu => self.rcu(),
            Remedy::Nothing(why) => Cure::nothing(why),
        }
    }

    fn class(&self) -> Cure {
        match self.row.class {
            Class::Tick if self.has_functions() => {
                self.requester_cure("a timer runs on the CPU of the thread that set it")
            }
            Class::Tick => self.tick(),
            Class::Reschedule => self.wake_up(),
            Class::FunctionCall => Cure::nothing(format!(
                "{} calls a function on this CPU; find out why there, and exclude this CPU",
                self.thread_text()
            )),
            Class::TlbShootdown => self.shootdown(),
            Class::Nmi | Class::Performance => self.context.knob(
                self.cpu,
                "watchdog_cpumask",
                "the hard lockup detector counts on every CPU that it watches; a perf session must be ended separately",
            ),
            Class::MachineCheck => self.context.knob(
                self.cpu,
                "check_interval",
                "the poll for corrected errors; errors that the hardware reports by itself are still reported",
            ),
            Class::TimerBroadcast => self.context.knob(
                self.cpu,
                "cpuidle_disable",
                "the CPU's own timer stops in deep idle states",
            ),
            Class::Device => self.device(),
            Class::Guest => self
                .context
                .isolate(self.cpu, "a virtual CPU ran here; a partition moves it away"),
            Class::SoftTimer | Class::SoftHrtimer => self.soft_timer(),
            Class::SoftSched => self
                .context
                .leave_domains(self.cpu, "the kernel does not balance load in a partition"),
            Class::SoftRcu => self.rcu(),
            Class::SoftNet => self.network(),
            Class::SoftBlock => self.block(),
            Class::SoftTasklet => self.tasklet(),
            Class::Preemption => self.preemption(),
            Class::KernelThread => self.kernel_thread(),
            Class::Work => self.work(),
            class @ (Class::IrqWork
            | Class::Thermal
            | Class::CpuControl
            | Class::Hypervisor
            | Class::Steal
            | Class::Firmware
            | Class::PageFault
            | Class::SystemCall
            | Class::Spurious
            | Class::Other) => outside(class),
        }
    }

    fn has_functions(&self) -> bool {
        self.row.name.contains(": ") && self.tick_reason().is_none()
    }

    fn tick_reason(&self) -> Option<&str> {
        self.row.name.split_once("kept for ").map(|(_, reason)| reason)
    }

    fn tick(&self) -> Cure {
        let reason = self.tick_reason().unwrap_or_default();
        if reason.starts_with("a POSIX CPU timer") {
            return Cure::nothing(
                "a program here has a CPU-time timer (ITIMER_PROF, ITIMER_VIRTUAL, timer_create on a CPU clock, \
                 RLIMIT_CPU); it must not use one",
            );
        }
        if reason.starts_with("perf") {
            return Cure::nothing("a perf session counts on this CPU; end it, or exclude the CPU with `perf -C`");
        }
        if reason.starts_with("the scheduler") {
            return self.context.isolate(
                self.cpu,
                "the tick divides the CPU between several runnable threads; with one thread per CPU it is not needed",
            );
        }
        if reason.starts_with("an unstable clock") {
            return Cure::nothing(
                "the clock is unstable, so the tick has to check it: `dmesg | grep -i tsc` shows why",
            );
        }
        if reason.starts_with("RCU") {
            return self.rcu();
        }
        let stops = |cpus: &machine::CpuSet| cpus.contains(CpuId(self.cpu));
        match (
            self.context.nohz_full.as_ref().is_some_and(stops),
            self.context.can_stop_ticks,
        ) {
            (true, _) => self.context.isolate(
                self.cpu,
                "nohz_full= names this CPU: the tick still fires while several threads are runnable, or a timer, perf \
                 or RCU needs it",
            ),
            (false, Some(false)) => Cure::nothing(
                "this kernel cannot stop the tick (CONFIG_NO_HZ_FULL is not set); use one that is built with it",
            ),
            (false, _) => self.context.boot("the tick stops only on CPUs that nohz_full= names"),
        }
    }

    /// Moves the thread that set the timer or queued the work, if it is an ordinary thread.
    fn requester_cure(&self, why: &str) -> Cure {
        match self.thread() {
            Some((comm, pid)) if !is_kernel_thread(comm) => {
                self.context
                    .leave(self.cpu, pid, &format!("{why}: {}", self.thread_text()))
            }
            _ => self.context.isolate(self.cpu, why),
        }
    }

    fn wake_up(&self) -> Cure {
        let why = format!("{} wakes a thread of this CPU", self.thread_text());
        match self.context.partition(self.cpu) {
            None => self.context.isolate(
                self.cpu,
                &format!("{why}; in a partition only the program itself can be woken"),
            ),
            Some(_) => Cure::nothing(format!(
                "{why}: let the woken thread poll instead, or move the other thread away"
            )),
        }
    }

    fn shootdown(&self) -> Cure {
        let Some((comm, pid)) = self.thread() else {
            return Cure::nothing("another CPU unmapped memory that was used on this CPU; no event names the process");
        };
        for (thread, knob, why) in [
            (
                "khugepaged",
                "transparent_hugepage",
                "the kernel creates huge pages from small ones in the background",
            ),
            (
                "kcompactd",
                "compaction_proactiveness",
                "the kernel compacts memory in the background",
            ),
        ] {
            if comm.starts_with(thread) {
                return self.context.knob(self.cpu, knob, why);
            }
        }
        let why = format!(
            "{} changes mappings of memory that is used on this CPU",
            self.thread_text()
        );
        match self.context.partition(self.cpu) {
            Some(_) if !self.context.own.contains(&pid) && self.culprit().is_some_and(|by| by.cpu == self.cpu) => {
                self.context.leave(self.cpu, pid, &why)
            }
            Some(_) => Cure::nothing(format!(
                "{why}: run its threads all outside or all inside the partition, or none of them may unmap, protect or \
                 release memory during the work (mlockall, MALLOC_TRIM_THRESHOLD_, no madvise)"
            )),
            None => self.context.isolate(
                self.cpu,
                &format!("{why}; a partition moves its threads away from here"),
            ),
        }
    }

    fn device(&self) -> Cure {
        match self.row.subject {
            InterruptionSubject::Irq(irq) => self.interrupt(irq),
            _ => self.context.knob(
                self.cpu,
                "irq_affinity",
                "interrupts of devices move to the housekeeping CPUs",
            ),
        }
    }

    /// The number of the interrupt through which the culprit interrupted this CPU.
    fn irq_of_culprit(&self) -> Option<i64> {
        let here = |link: &Link| match link.cpu == self.cpu {
            true => link.what.strip_prefix("irq ")?.split(' ').next()?.parse().ok(),
            false => None,
        };
        self.culprit()?.links().iter().find_map(here)
    }

    /// The interrupt whose thread is the culprit, on this CPU: `irq/36-eth0`.
    fn irq_of_thread_here(&self) -> Option<i64> {
        let culprit = self.culprit().filter(|culprit| culprit.cpu == self.cpu)?;
        irq_of_comm(&culprit.comm)
    }

    fn known_interrupt(&self, irq: i64) -> Option<&Interrupt> {
        self.context.interrupts.iter().find(|known| i64::from(known.irq) == irq)
    }

    /// Whether nothing is known that keeps the interrupt where it is.
    fn is_movable(&self, irq: i64) -> bool {
        self.known_interrupt(irq)
            .is_none_or(|known| known.immovable().is_none())
    }

    fn interrupt(&self, irq: i64) -> Cure {
        let file = format!("/proc/irq/{irq}/smp_affinity_list");
        let known = self.known_interrupt(irq);
        let here = |cpus: &machine::CpuSet| cpus.contains(CpuId(self.cpu));
        let immovable = known.and_then(Interrupt::immovable);
        if immovable == Some(ImmovableReason::PerCpu) {
            return Cure::nothing(format!(
                "interrupt {irq} is a per-CPU interrupt, and no mask moves it: each CPU gets it for its own work"
            ));
        }
        if immovable == Some(ImmovableReason::Managed) {
            if here(&self.context.managed_irq) {
                return Cure::nothing(format!(
                    "interrupt {irq} is managed and avoids this CPU (isolcpus=managed_irq) unless a thread here uses its \
                     device: do no such I/O here"
                ));
            }
            if self.context.lacks_managed_irq {
                return Cure::nothing(format!(
                    "interrupt {irq} is managed: the kernel refuses to move it, and isolcpus=managed_irq, which blocks \
                     it from this CPU, needs kernel 5.6: do no such I/O here"
                ));
            }
            return self.context.boot(&format!(
                "interrupt {irq} is managed: the kernel refuses to move it, and only isolcpus=managed_irq blocks it \
                 from this CPU"
            ));
        }
        if let Some(reason) = immovable {
            return Cure::nothing(format!(
                "interrupt {irq} cannot be moved: {}; isolate another CPU if this interrupt is a problem",
                reason.why()
            ));
        }
        let covered = self
            .context
            .partition(self.cpu)
            .filter(|intent| takes(intent, "irq_affinity"));
        if covered.is_some() {
            let back = known.and_then(|known| known.affinity.as_ref()).is_some_and(here);
            return match back {
                true => self.context.once_more(
                    self.cpu,
                    &format!("{file} includes this CPU again: another program changed it (irqbalance?)"),
                ),
                false => Cure::nothing(format!(
                    "{file} no longer includes this CPU; the interrupt moves when it fires next"
                )),
            };
        }
        self.context.knob(
            self.cpu,
            "irq_affinity",
            &format!("this writes the housekeeping CPUs to {file}"),
        )
    }

    fn preemption(&self) -> Cure {
        match self.row.subject {
            InterruptionSubject::Thread(0) => self.context.knob(
                self.cpu,
                "sched_rt_runtime_us=-1",
                "nothing ran although the program was runnable: the kernel throttled a real-time task",
            ),
            InterruptionSubject::LetIn(_) if self.context.throttles() => self.context.knob(
                self.cpu,
                "sched_rt_runtime_us=-1",
                "an ordinary thread ran although a real-time one was runnable: the kernel throttled the real-time \
                 thread",
            ),
            InterruptionSubject::LetIn(_) => self.context.knob(
                self.cpu,
                "fair_server=0",
                "an ordinary thread ran although a real-time one was runnable: the fair server scheduled it",
            ),
            InterruptionSubject::Thread(pid) => {
                self.context
                    .leave(self.cpu, pid, "it may run on this CPU; a partition blocks it")
            }
            _ => self.context.isolate(self.cpu, "a partition blocks other programs"),
        }
    }

    fn kernel_thread(&self) -> Cure {
        let comm = self.row.name.split(':').next().unwrap_or_default();
        let begins = |stems: &[&str]| stems.iter().any(|stem| self.row.name.starts_with(stem));
        if begins(&["irq/"]) {
            return match irq_of_comm(&self.row.name) {
                Some(irq) => self.interrupt(irq),
                None => self.context.knob(
                    self.cpu,
                    "irq_affinity",
                    "the thread of an interrupt runs on the interrupt's CPUs",
                ),
            };
        }
        if begins(&["ksoftirqd/", "ktimers/"]) {
            return match (self.irq_of_culprit(), self.thread()) {
                (Some(irq), _) => self.interrupt(irq),
                (None, _) => Cure::nothing(format!(
                    "{comm} runs softirqs that were raised faster than they were handled, or outside of interrupts: \
                     see the rows of these softirqs for their cures"
                )),
            };
        }
        if begins(&["rcuc/", "rcub/"]) {
            return self.rcu();
        }
        if begins(&["backlog_napi/"]) {
            return self
                .context
                .knob(self.cpu, "rps_cpus", "another CPU passes packets to this CPU (RPS)");
        }
        if begins(&["cpuhp/"]) {
            return outside(Class::CpuControl);
        }
        if begins(&["kworker/u"]) {
            return self
                .context
                .knob(self.cpu, "workqueue_cpumask", "work of unbound workqueues");
        }
        if begins(&["kworker/"]) {
            return self.bound_work();
        }
        match self.context.partition(self.cpu) {
            Some(_) if begins(&["migration/", "stopper/"]) => Cure::nothing(format!(
                "{comm} stops the CPU for {}, which moves tasks across CPUs, patches code or stops the machine",
                self.thread_text()
            )),
            Some(_) => Cure::nothing(format!(
                "{comm} is bound to this CPU; its work comes from {}",
                self.thread_text()
            )),
            None => self
                .context
                .isolate(self.cpu, "a partition moves kernel threads that are bound to no CPU"),
        }
    }

    fn work(&self) -> Cure {
        match &self.row.subject {
            InterruptionSubject::Worker(comm) if comm.starts_with("kworker/u") => {
                self.context
                    .knob(self.cpu, "workqueue_cpumask", "work of unbound workqueues")
            }
            _ => self.bound_work(),
        }
    }

    fn bound_work(&self) -> Cure {
        let why = "work of a bound workqueue runs on the CPU on which it was queued";
        match self.culprit() {
            Some(by) if by.cpu == self.cpu => self.requester_cure(why),
            Some(_) => Cure::nothing(format!("{why}, and {} requested this one", self.thread_text())),
            None => self
                .context
                .isolate(self.cpu, &format!("{why}; threads that run elsewhere queue it there")),
        }
    }
}

/// The number in the name of an interrupt's thread.
fn irq_of_comm(comm: &str) -> Option<i64> {
    let number = comm.strip_prefix("irq/")?;
    number
        .split(|letter: char| !letter.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// What none of our knobs affects: the table of classes says what helps.
fn outside(class: Class) -> Cure {
    let row = class.row();
    Cure::nothing(match row.knob {
        "" => format!("no cure is known ({})", row.what),
        knob => format!("{}: {knob}", row.name),
    })
}
