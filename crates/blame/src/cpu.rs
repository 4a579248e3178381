//! Tracks one requested CPU from event to event: what runs there, and whose time it is.
//!
//! Interrupts nest above everything. Softirqs, system calls, faults and work belong to the thread in which they run and
//! leave the CPU with it, because with PREEMPT_RT a softirq is preempted like any thread.

mod inside;
mod measured_gaps;
mod migration;
mod program;

pub(crate) use migration::follow;

use crate::answer::{CpuAnswer, Culprit, GapSource};
use crate::context::{ContextKind, ExecutionContext};
use crate::gaps::{Edge, EdgeEstimator, Gap, OpenGap};
use crate::question::BlameTarget;
use crate::rows::InterruptionRows;
use crate::stories::{GapSelection, StoryCollector};
use crate::victims::Victims;
use inside::{BlankSuccessor, KernelStay};
use observe::Class;
use std::collections::{HashMap, VecDeque};

/// The number of no thread.
const UNKNOWN: i32 = -1;
/// Marks time in gaps for which events are missing: no interruption has this serial.
const LOST: u64 = u64::MAX;
/// Maximum number of interrupts that wait for one softirq of disk requests.
const MOST_RAISERS: usize = 16;

/// State change of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadStateChange {
    /// From now on it can run here, or already runs here.
    Runnable,
    /// From now on it runs, or waits, on another CPU.
    Left,
}

/// One CPU.
#[derive(Default)]
pub(crate) struct CpuTracker {
    pub(crate) cpu: u32,
    pub(crate) victims: Victims,
    window: Gap,
    /// Measured gaps that have not ended, in order of their start.
    gaps: Option<VecDeque<Gap>>,
    /// End of the last gap taken from the queue.
    gaps_end: u64,
    /// Thread locations that other CPUs reported.
    changes: Vec<(u64, i32, ThreadStateChange)>,
    /// End of the time that has been attributed.
    pub(crate) at: u64,
    pub(crate) current: i32,
    irqs: Vec<ExecutionContext>,
    stacks: HashMap<i32, Vec<ExecutionContext>>,
    /// The thread that runs instead of the victim.
    task: Option<ExecutionContext>,
    next_serial: u64,
    pieces: OpenGap,
    /// Rows of interruptions that ended in the gap in progress.
    ended_in_gap: HashMap<u64, usize>,
    waiting: Vec<Edge>,
    undecided: Vec<(Edge, usize)>,
    usual: EdgeEstimator,
    rows: InterruptionRows,
    /// Rows of interrupts that raised the softirq of disk requests, until it has run.
    raisers: Vec<usize>,
    stories: StoryCollector,
    /// What the program requested from the kernel, if events are the only source.
    own: InterruptionRows,
    /// Time in which the victim ran or could have run; counted only if events are the only source.
    runnable_ns: u64,
    stolen_ns: u64,
    unexplained_ns: u64,
    gap_count: u64,
    outside: u64,
    longest_run_ns: u64,
    running_since: u64,
    in_gap: bool,
    /// Start of the gap in progress, if events are the only source.
    gap_since: u64,
    /// The length of the gap to search for.
    pub(crate) limit_ns: u64,
    /// The first such gap.
    pub(crate) found: Option<Gap>,
    pub(crate) lost_events: u64,
    /// Events are missing from the last event to the next one.
    blind: bool,
    /// On this CPU the kernel reports when a program leaves user mode and returns.
    pub(crate) is_tracked: bool,
    /// The program's stay in the kernel, if so.
    inside: KernelStay,
}

impl CpuTracker {
    pub(crate) fn new(target: &BlameTarget, keep: GapSelection) -> CpuTracker {
        let mut cpu = CpuTracker::quiet(target, keep);
        cpu.add_gaps(target.gaps.as_deref().unwrap_or_default());
        cpu
    }

    fn quiet(target: &BlameTarget, keep: GapSelection) -> CpuTracker {
        CpuTracker {
            cpu: target.cpu,
            victims: Victims::of(&target.victim),
            window: target.window,
            gaps: target.gaps.as_ref().map(|_| VecDeque::new()),
            gaps_end: target.window.start,
            at: target.window.start,
            current: UNKNOWN,
            stories: StoryCollector::new(keep),
            running_since: target.window.start,
            limit_ns: u64::MAX,
            ..CpuTracker::default()
        }
    }

    pub(crate) fn is_victim(&self, pid: i32) -> bool {
        self.victims.has(pid)
    }

    /// Whether gaps were measured; otherwise only events show when the victim did not run.
    pub(crate) const fn is_measured(&self) -> bool {
        self.gaps.is_some()
    }

    /// Attributes the time since the last event, because something happened on this CPU.
    pub(crate) fn charge(&mut self, to: u64) {
        if !self.changes.is_empty() {
            self.settle();
        }
        if self.charge_to(to) {
            self.blind = false;
        }
    }

    /// Whether there was any.
    fn charge_to(&mut self, to: u64) -> bool {
        let to = to.min(self.window.end);
        let from = self.at;
        if to <= from {
            return false;
        }
        self.at = to;
        if self.gaps.is_some() {
            self.charge_gaps(from, to);
        } else {
            self.charge_all(from, to);
        }
        true
    }

    /// A gap has ended.
    fn record_gap(&mut self, gap: Gap) {
        if self.found.is_none() && gap.end.saturating_sub(gap.start) >= self.limit_ns {
            self.found = Some(gap);
        }
    }

    /// Sets the end of the window, which is after everything passed so far.
    pub(crate) fn end_at(&mut self, end: u64) {
        self.window.end = end.max(self.window.start);
    }

    /// No more events before this time. Only the next event shows whether a program's CPU is still idle.
    pub(crate) fn pass(&mut self, to: u64) {
        self.settle();
        if self.is_measured() || !self.can_leave_idle() {
            self.charge_to(to);
        }
    }

    /// What has the CPU now, if not the victim.
    fn owner(&mut self) -> Option<&mut ExecutionContext> {
        if let Some(irq) = self.irqs.last_mut() {
            return Some(irq);
        }
        match self.stacks.get_mut(&self.current).and_then(|stack| stack.last_mut()) {
            Some(context) => Some(context),
            None => self.task.as_mut(),
        }
    }

    fn context(&mut self, what: ContextKind) -> ExecutionContext {
        self.next_serial += 1;
        ExecutionContext::new(what, self.next_serial)
    }

    fn end(&mut self, context: &ExecutionContext) {
        if !self.is_measured() && context.what.is_own() {
            let place = self.own.add(context);
            return self.inside.end_interruption(context.serial, place);
        }
        if context.in_gaps_ns == 0 {
            return;
        }
        let place = self.rows.add(context);
        self.stories.named(context.serial, place);
        if context.raised_block && self.raisers.len() < MOST_RAISERS {
            self.raisers.push(place);
        }
        match self.is_measured() {
            true => drop(self.ended_in_gap.insert(context.serial, place)),
            false => self.inside.end_interruption(context.serial, place),
        }
        let of_it = |edge: &mut Edge| edge.beside == context.serial;
        for edge in self.waiting.extract_if(.., of_it).collect::<Vec<_>>() {
            self.decide(edge, place);
        }
    }

    /// An interrupt started. Returns its context, for further facts.
    pub(crate) fn start_irq(&mut self, what: ContextKind) -> Option<&mut ExecutionContext> {
        let context = self.context(what);
        self.irqs.push(context);
        self.irqs.last_mut()
    }

    /// The innermost interrupt of that kind ended, and with it those nested inside whose end was lost.
    pub(crate) fn end_irq(&mut self, is: impl Fn(&ContextKind) -> bool) {
        let Some(from) = self.irqs.iter().rposition(|context| is(&context.what)) else {
            return;
        };
        for context in self.irqs.split_off(from) {
            self.end(&context);
        }
    }

    /// A context started in the current thread.
    pub(crate) fn start_in_task(&mut self, what: ContextKind) -> Option<&mut ExecutionContext> {
        let context = self.context(what);
        let stack = self.stacks.entry(self.current).or_default();
        stack.push(context);
        stack.last_mut()
    }

    /// The innermost context of that kind in the current thread ended.
    pub(crate) fn end_in_task(&mut self, is: impl Fn(&ContextKind) -> bool) {
        let Some(stack) = self.stacks.get_mut(&self.current) else {
            return;
        };
        let Some(from) = stack.iter().rposition(|context| is(&context.what)) else {
            return;
        };
        let ended = stack.split_off(from);
        if stack.is_empty() {
            self.stacks.remove(&self.current);
        }
        for context in ended {
            self.end(&context);
        }
    }

    fn end_task_contexts(&mut self, pid: i32, is: impl Fn(&ContextKind) -> bool) -> Vec<ExecutionContext> {
        let Some(stack) = self.stacks.get_mut(&pid) else {
            return Vec::new();
        };
        let (ended, stay): (Vec<ExecutionContext>, Vec<ExecutionContext>) =
            std::mem::take(stack).into_iter().partition(|context| is(&context.what));
        if stay.is_empty() {
            self.stacks.remove(&pid);
        } else {
            *stack = stay;
        }
        for context in &ended {
            self.end(context);
        }
        ended
    }

    /// Whether the current thread is inside a system call.
    pub(crate) fn is_in_call(&self) -> bool {
        let stack = self.stacks.get(&self.current);
        let is_call = |context: &ExecutionContext| matches!(context.what, ContextKind::Syscall { .. });
        stack.is_some_and(|stack| stack.iter().any(is_call))
    }

    /// What is in progress continues for another culprit: ends the current part and starts another of the same kind.
    pub(crate) fn split(&mut self) -> Option<&mut ExecutionContext> {
        self.next_serial += 1;
        let serial = self.next_serial;
        let owner = self.owner()?;
        let rest = ExecutionContext::new(owner.what.clone(), serial);
        let ended = std::mem::replace(owner, rest);
        self.end(&ended);
        self.owner()
    }

    /// The innermost context in progress, which a function that runs now belongs to.
    pub(crate) fn innermost(&mut self) -> Option<&mut ExecutionContext> {
        self.owner()
    }

    /// A disk request of a thread was completed: by the context in progress, by the thread in which it runs, and by the
    /// interrupts that led to it.
    pub(crate) fn completed(&mut self, by: &Culprit) {
        let serves = |what: &ContextKind| {
            matches!(
                what,
                ContextKind::Irq { .. } | ContextKind::Vector { .. } | ContextKind::Softirq { .. }
            )
        };
        if let Some(context) = self.owner().filter(|context| serves(&context.what)) {
            context.served(by);
        }
        if let Some(task) = self.task.as_mut().filter(|task| task.class == Class::KernelThread) {
            task.served(by);
        }
        for place in &self.raisers {
            self.rows.served(*place, by);
        }
    }

    /// A softirq ends; the interrupts that raised the one of disk requests have received their requests.
    pub(crate) fn end_softirq(&mut self) {
        let ends_block = matches!(self.owner(), Some(context) if context.class == Class::SoftBlock);
        if ends_block {
            self.raisers.clear();
        }
        self.end_in_task(|what| matches!(what, ContextKind::Softirq { .. }));
    }

    /// The thread that runs instead of the victim.
    pub(crate) const fn instead(&mut self) -> Option<&mut ExecutionContext> {
        self.task.as_mut()
    }

    /// Another thread runs from now on. Calls `woken_by` if that is not the victim.
    pub(crate) fn switch(&mut self, prev: i32, prev_could_go_on: bool, next: (i32, &str), woken_by: Option<Culprit>) {
        for context in std::mem::take(&mut self.irqs) {
            self.end(&context);
        }
        if let Some(task) = self.task.take() {
            self.end(&task);
        }
        if prev_could_go_on {
            self.victims.set_runnable(prev);
        }
        self.current = next.0;
        self.victims.no_longer_waits(next.0);
        if self.is_victim(next.0) {
            self.inside.resumes(next.0);
        } else {
            let mut task = self.context(ContextKind::Task {
                pid: next.0,
                comm: next.1.to_owned(),
            });
            task.culprit = woken_by;
            self.task = Some(task);
        }
    }

    /// Makes the thread of an event current, if the switch to it was lost or precedes the first event. Returns whether it did.
    pub(crate) fn seen(&mut self, pid: i32, comm: &str) -> bool {
        if self.current == pid {
            return false;
        }
        let unknown = self.current;
        self.switch(unknown, true, (pid, comm), None);
        true
    }

    /// Whether the last event says that the CPU is idle, and no thread is throttled. Some kernels record no switch from the idle
    /// task of a CPU (seen on 6.18 in a virtual machine, always on CPU 1). The idle task leaves as soon as a thread can run, so
    /// the switch came right after the last event; only a throttled thread waits for an idle CPU.
    fn can_leave_idle(&self) -> bool {
        self.current == 0 && self.task.as_ref().is_none_or(|idle| idle.culprit.is_none())
    }

    /// Makes a thread current that runs although the last event says that the CPU was idle. Returns whether it did.
    pub(crate) fn left_idle(&mut self, pid: i32, comm: impl FnOnce() -> String) -> bool {
        if pid == 0 || !self.can_leave_idle() {
            return false;
        }
        // Another CPU may have woken the thread since then.
        self.settle();
        self.seen(pid, &comm())
    }

    /// Events of this CPU are missing here: what was in progress has ended somewhere among them, and until the next event no
    /// culprit can be named.
    pub(crate) fn lost(&mut self, count: u64) {
        self.lost_events += count;
        self.blind = true;
        self.settle();
        self.resolve(BlankSuccessor::Nothing);
        self.inside.lost();
        self.end_all();
        self.raisers.clear();
        self.current = UNKNOWN;
    }

    fn end_all(&mut self) {
        // Deterministic order: the first entry of a row sets its subject.
        let mut stacks: Vec<_> = std::mem::take(&mut self.stacks).into_iter().collect();
        stacks.sort_unstable_by_key(|(pid, _)| *pid);
        let open: Vec<ExecutionContext> = std::mem::take(&mut self.irqs)
            .into_iter()
            .chain(stacks.into_iter().flat_map(|(_, stack)| stack))
            .chain(self.task.take())
            .collect();
        for context in open {
            self.end(&context);
        }
    }

    /// Ends all contexts at the end of the window.
    pub(crate) fn finish(mut self) -> CpuAnswer {
        self.settle();
        if let Some(pid) = self
            .victims
            .any_waiting()
            .filter(|_| !self.is_measured() && self.can_leave_idle())
        {
            self.seen(pid, "");
        }
        self.charge(self.window.end);
        self.cut();
        self.resolve(BlankSuccessor::Nothing);
        self.leave_gap();
        self.end_all();
        self.usual.settle();
        for (edge, place) in std::mem::take(&mut self.undecided) {
            self.credit(edge, place);
        }
        self.unexplained_ns += self.waiting.iter().map(|edge| edge.len_ns).sum::<u64>();
        let runnable_ns = self.gaps.is_none().then_some(self.runnable_ns);
        let last_run = self.window.end.saturating_sub(self.running_since);
        let (stories, stories_left_out) = self.stories.finish(&self.usual);
        let mut answer = CpuAnswer {
            cpu: self.cpu,
            gaps_from: match (&self.gaps, self.is_tracked) {
                (Some(_), _) => GapSource::Probe,
                (None, false) => GapSource::Events,
                (None, true) => GapSource::ContextTracking,
            },
            duration_ns: self.window.end.saturating_sub(self.window.start),
            stolen_ns: self.stolen_ns,
            explained_ns: self.stolen_ns.saturating_sub(self.unexplained_ns),
            unexplained_ns: self.unexplained_ns,
            gaps: self.gap_count,
            outside: self.outside,
            longest_run_ns: Some(self.longest_run_ns.max(last_run)),
            lost_events: self.lost_events,
            wanted_ns: runnable_ns,
            own: self.own.into_rows(),
            interruptions: self.rows.into_rows(),
            stories,
            stories_left_out,
            transitions: self.usual.transitions(),
        };
        answer.sort();
        answer
    }
}
