//! One CPU that is asked about: what runs on it from event to event, and whose time it is.
//!
//! Interrupts nest above everything; softirqs, system calls, faults and work belong to the thread in which they run and go
//! away with it, because with PREEMPT_RT a softirq is preempted like any thread.

mod program;

use crate::answer::{CpuAnswer, Culprit};
use crate::context::{Context, What};
use crate::gaps::{Edge, Gap, Pieces, Usual};
use crate::question::Target;
use crate::rows::Rows;
use crate::stories::{Keep, Stories};
use crate::victims::Victims;
use observe::Class;
use std::collections::HashMap;

/// Number of no thread.
const UNKNOWN: i32 = -1;
/// Stands in gaps for time in which events are missing: no interruption has this serial.
const LOST: u64 = u64::MAX;
/// Most interrupts that wait for one softirq of disk requests.
const MOST_RAISERS: usize = 16;

/// One CPU.
pub(crate) struct Cpu {
    pub(crate) cpu: u32,
    pub(crate) victims: Victims,
    window: Gap,
    gaps: Option<Vec<Gap>>,
    next_gap: usize,
    /// Where time was given out to.
    at: u64,
    pub(crate) current: i32,
    irqs: Vec<Context>,
    stacks: HashMap<i32, Vec<Context>>,
    /// The thread that runs in the victim's place.
    task: Option<Context>,
    next_serial: u64,
    pieces: Pieces,
    ended: HashMap<u64, usize>,
    waiting: Vec<Edge>,
    undecided: Vec<(Edge, usize)>,
    usual: Usual,
    rows: Rows,
    /// Rows of interrupts that raised the softirq of disk requests, until that has run.
    raisers: Vec<usize>,
    stories: Stories,
    /// What the program itself asked of the kernel, when events alone have to tell.
    own: Rows,
    /// Time in which the victim ran or could have run; counted only when events alone tell.
    wanted_ns: u64,
    stolen_ns: u64,
    unexplained_ns: u64,
    gap_count: u64,
    outside: u64,
    longest_run_ns: u64,
    ran_since: u64,
    in_gap: bool,
    pub(crate) lost_events: u64,
    /// Events are missing from the last one up to the next.
    blind: bool,
    /// The kernel tells on this CPU when a program leaves for it and comes back.
    pub(crate) is_tracked: bool,
}

impl Cpu {
    pub(crate) fn new(target: &Target, keep: Keep) -> Cpu {
        let mut gaps = target.gaps.clone();
        if let Some(gaps) = &mut gaps {
            gaps.sort_by_key(|gap| gap.start);
            // Gaps side by side may overlap by what their clock was rounded; no time is stolen twice, and none before the
            // window.
            let mut end = target.window.start;
            for gap in gaps.iter_mut() {
                gap.start = gap.start.max(end);
                end = end.max(gap.end);
            }
            gaps.retain(|gap| gap.end > gap.start);
        }
        Cpu {
            cpu: target.cpu,
            victims: Victims::of(&target.victim),
            window: target.window,
            gaps,
            next_gap: 0,
            at: target.window.start,
            current: UNKNOWN,
            irqs: Vec::new(),
            stacks: HashMap::new(),
            task: None,
            next_serial: 0,
            pieces: Pieces::default(),
            ended: HashMap::new(),
            waiting: Vec::new(),
            undecided: Vec::new(),
            usual: Usual::default(),
            rows: Rows::default(),
            raisers: Vec::new(),
            stories: Stories::new(keep),
            own: Rows::default(),
            wanted_ns: 0,
            stolen_ns: 0,
            unexplained_ns: 0,
            gap_count: 0,
            outside: 0,
            longest_run_ns: 0,
            ran_since: target.window.start,
            in_gap: false,
            lost_events: 0,
            blind: false,
            is_tracked: false,
        }
    }

    pub(crate) fn is_victim(&self, pid: i32) -> bool {
        self.victims.has(pid)
    }

    /// Whether gaps were measured; otherwise events alone say when the victim did not run.
    pub(crate) const fn is_measured(&self) -> bool {
        self.gaps.is_some()
    }

    /// Gives the time since the last event to whoever had it.
    pub(crate) fn charge(&mut self, to: u64) {
        let to = to.min(self.window.end);
        let from = self.at;
        if to <= from {
            return;
        }
        self.at = to;
        if self.gaps.is_some() {
            self.charge_gaps(from, to);
        } else {
            self.charge_all(from, to);
        }
        self.blind = false;
    }

    /// Of measured gaps.
    fn charge_gaps(&mut self, from: u64, to: u64) {
        while let Some(gap) = self
            .gaps
            .as_ref()
            .and_then(|gaps| gaps.get(self.next_gap))
            .copied()
        {
            let (start, end) = (gap.start.max(from), gap.end.min(to));
            if start < end {
                let len = end - start;
                let serial = if self.blind {
                    self.unexplained_ns += len;
                    Some(LOST)
                } else {
                    self.owner().map(|owner| {
                        owner.in_gaps_ns += len;
                        owner.serial
                    })
                };
                self.stories.piece(Gap { start, end }, serial);
                match serial {
                    Some(serial) => self.pieces.context(serial),
                    None => self.pieces.blank(len),
                }
            }
            if gap.end > to {
                return;
            }
            self.next_gap += 1;
            self.end_gap(gap);
        }
    }

    fn end_gap(&mut self, gap: Gap) {
        self.gap_count += 1;
        self.stolen_ns += gap.end - gap.start.max(self.window.start);
        self.longest_run_ns = self.longest_run_ns.max(gap.start.saturating_sub(self.ran_since));
        self.ran_since = gap.end;
        // A fault has no event for its end; the program going on is one.
        let current = self.current;
        self.end_task_contexts(current, |what| *what == What::Fault);
        self.stories.end();
        let (edges, alone_ns, outside) = self.pieces.end();
        self.unexplained_ns += alone_ns;
        self.outside += u64::from(outside);
        for edge in edges {
            match self.ended.get(&edge.beside) {
                Some(place) => self.decide(edge, *place),
                None => self.waiting.push(edge),
            }
        }
        self.ended.clear();
    }

    fn decide(&mut self, edge: Edge, place: usize) {
        if self.usual.note(&edge) {
            self.give(edge, place);
            for (edge, place) in std::mem::take(&mut self.undecided) {
                self.give(edge, place);
            }
        } else {
            self.undecided.push((edge, place));
        }
    }

    fn give(&mut self, edge: Edge, place: usize) {
        let part = self.usual.split(&edge);
        self.rows.transition(place, part);
        self.unexplained_ns += edge.len_ns - part;
    }

    /// Who has the CPU now, if it is not the victim.
    fn owner(&mut self) -> Option<&mut Context> {
        if let Some(irq) = self.irqs.last_mut() {
            return Some(irq);
        }
        match self
            .stacks
            .get_mut(&self.current)
            .and_then(|stack| stack.last_mut())
        {
            Some(context) => Some(context),
            None => self.task.as_mut(),
        }
    }

    fn context(&mut self, what: What) -> Context {
        self.next_serial += 1;
        Context::new(what, self.next_serial)
    }

    fn end(&mut self, context: &Context) {
        if !self.is_measured() && context.what.is_own() {
            self.own.add(context);
            return;
        }
        if context.in_gaps_ns == 0 {
            return;
        }
        let place = self.rows.add(context);
        self.stories.named(context.serial, place);
        if context.raised_block && self.raisers.len() < MOST_RAISERS {
            self.raisers.push(place);
        }
        if !self.is_measured() {
            return;
        }
        self.ended.insert(context.serial, place);
        let waited = self.waiting.iter().position(|edge| edge.beside == context.serial);
        if let Some(at) = waited {
            let edge = self.waiting.swap_remove(at);
            self.decide(edge, place);
        }
    }

    /// An interrupt began. Its context, for what is known of it besides.
    pub(crate) fn begin_irq(&mut self, what: What) -> Option<&mut Context> {
        let context = self.context(what);
        self.irqs.push(context);
        self.irqs.last_mut()
    }

    /// The innermost interrupt of that kind ended, and with it those inside of it whose end was lost.
    pub(crate) fn end_irq(&mut self, is: impl Fn(&What) -> bool) {
        let Some(from) = self.irqs.iter().rposition(|context| is(&context.what)) else {
            return;
        };
        for context in self.irqs.split_off(from) {
            self.end(&context);
        }
    }

    /// Something began in the current thread.
    pub(crate) fn begin_in_task(&mut self, what: What) -> Option<&mut Context> {
        let context = self.context(what);
        let stack = self.stacks.entry(self.current).or_default();
        stack.push(context);
        stack.last_mut()
    }

    /// The innermost of that kind in the current thread ended.
    pub(crate) fn end_in_task(&mut self, is: impl Fn(&What) -> bool) {
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

    fn end_task_contexts(&mut self, pid: i32, is: impl Fn(&What) -> bool) {
        let Some(stack) = self.stacks.get_mut(&pid) else {
            return;
        };
        let (ended, stay): (Vec<Context>, Vec<Context>) = std::mem::take(stack)
            .into_iter()
            .partition(|context| is(&context.what));
        if stay.is_empty() {
            self.stacks.remove(&pid);
        } else {
            *stack = stay;
        }
        for context in ended {
            self.end(&context);
        }
    }

    /// What is in progress goes on for somebody else: the part until now has ended, another one of its kind begins.
    pub(crate) fn split(&mut self) -> Option<&mut Context> {
        self.next_serial += 1;
        let serial = self.next_serial;
        let owner = self.owner()?;
        let rest = Context::new(owner.what.clone(), serial);
        let ended = std::mem::replace(owner, rest);
        self.end(&ended);
        self.owner()
    }

    /// The innermost thing in progress, to which a function that runs now belongs.
    pub(crate) fn innermost(&mut self) -> Option<&mut Context> {
        self.owner()
    }

    /// A disk request of somebody was completed: by what is in progress, by the thread in which that runs, and by the
    /// interrupts that led to it.
    pub(crate) fn completed(&mut self, by: &Culprit) {
        let serves = |what: &What| {
            matches!(
                what,
                What::Irq { .. } | What::Vector { .. } | What::Softirq { .. }
            )
        };
        if let Some(context) = self.owner().filter(|context| serves(&context.what)) {
            context.served(by);
        }
        if let Some(task) = self
            .task
            .as_mut()
            .filter(|task| task.class == Class::KernelThread)
        {
            task.served(by);
        }
        for place in &self.raisers {
            self.rows.served(*place, by);
        }
    }

    /// A softirq ends; the interrupts that raised that of disk requests have got theirs.
    pub(crate) fn end_softirq(&mut self) {
        let ends_block = matches!(self.owner(), Some(context) if context.class == Class::SoftBlock);
        if ends_block {
            self.raisers.clear();
        }
        self.end_in_task(|what| matches!(what, What::Softirq { .. }));
    }

    /// The thread that runs in the victim's place.
    pub(crate) const fn instead(&mut self) -> Option<&mut Context> {
        self.task.as_mut()
    }

    /// Another thread runs from now on. `woken_by` is asked when that is not the victim.
    pub(crate) fn switch(
        &mut self,
        prev: i32,
        prev_could_go_on: bool,
        next: (i32, &str),
        woken_by: Option<Culprit>,
    ) {
        for context in std::mem::take(&mut self.irqs) {
            self.end(&context);
        }
        if let Some(task) = self.task.take() {
            self.end(&task);
        }
        if prev_could_go_on {
            self.victims.wants(prev);
        }
        self.current = next.0;
        self.victims.no_longer_waits(next.0);
        if !self.is_victim(next.0) {
            let mut task = self.context(What::Task {
                pid: next.0,
                comm: next.1.to_owned(),
            });
            task.culprit = woken_by;
            self.task = Some(task);
        }
    }

    /// Takes for current who an event says is, when the switch to it was lost or lies before the first event.
    pub(crate) fn seen(&mut self, pid: i32, comm: &str) {
        if self.current == pid {
            return;
        }
        let unknown = self.current;
        self.switch(unknown, true, (pid, comm), None);
    }

    /// Events of this CPU are missing here: what was in progress has ended somewhere among them, and until the next event
    /// nobody can be named.
    pub(crate) fn lost(&mut self, count: u64) {
        self.lost_events += count;
        self.end_all();
        self.raisers.clear();
        self.current = UNKNOWN;
        self.blind = true;
    }

    fn end_all(&mut self) {
        let open: Vec<Context> = std::mem::take(&mut self.irqs)
            .into_iter()
            .chain(std::mem::take(&mut self.stacks).into_values().flatten())
            .chain(self.task.take())
            .collect();
        for context in open {
            self.end(&context);
        }
    }

    /// Ends everything at the end of the window.
    pub(crate) fn finish(mut self) -> CpuAnswer {
        self.charge(self.window.end);
        // A gap that the window cuts.
        let cut = self
            .gaps
            .as_ref()
            .and_then(|gaps| gaps.get(self.next_gap))
            .copied();
        if let Some(gap) = cut.filter(|gap| gap.start < self.window.end) {
            self.end_gap(Gap {
                end: self.window.end,
                ..gap
            });
        }
        self.end_all();
        self.usual.settle();
        for (edge, place) in std::mem::take(&mut self.undecided) {
            self.give(edge, place);
        }
        self.unexplained_ns += self.waiting.iter().map(|edge| edge.len_ns).sum::<u64>();
        let wanted_ns = self.gaps.is_none().then_some(self.wanted_ns);
        let last_run = self.window.end.saturating_sub(self.ran_since);
        let (stories, stories_left_out) = self.stories.finish(&self.usual);
        let mut answer = CpuAnswer {
            cpu: self.cpu,
            duration_ns: self.window.end.saturating_sub(self.window.start),
            stolen_ns: self.stolen_ns,
            explained_ns: self.stolen_ns.saturating_sub(self.unexplained_ns),
            unexplained_ns: self.unexplained_ns,
            gaps: self.gap_count,
            outside: self.outside,
            longest_run_ns: Some(self.longest_run_ns.max(last_run)),
            lost_events: self.lost_events,
            wanted_ns,
            own: self.own.into_rows(),
            interruptions: self.rows.into_rows(),
            stories,
            stories_left_out,
        };
        answer.sort();
        answer
    }
}
