//! Joins gaps with events of the kernel: the question of a run, and the answer so far.

use blame::{Answer, Attribution, Functions, Gap, GapFunctions, Question, Reader, Target};
use events::{Event, Names};
use machine::Machine;
use root::Root;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The question of one run, and the answer to it so far.
pub struct GapJoin<'n> {
    reader: &'n Reader,
    names: &'n dyn Names,
    question: Question,
    limit_ns: Option<u64>,
    attribution: Option<Attribution<'n>>,
    functions: Option<Functions<'n>>,
}

impl<'n> GapJoin<'n> {
    /// Nothing is watched yet: `question` has no targets.
    pub fn new(reader: &'n Reader, names: &'n dyn Names, question: Question) -> GapJoin<'n> {
        GapJoin {
            reader,
            names,
            question,
            limit_ns: None,
            attribution: None,
            functions: None,
        }
    }

    /// Joins gaps with the functions of the kernel as well, where they are traced.
    pub fn with(mut self, functions: Option<Functions<'n>>) -> GapJoin<'n> {
        self.functions = functions;
        self
    }

    /// Looks for the first gap that is so long.
    pub fn until(mut self, limit_ns: Option<u64>) -> GapJoin<'n> {
        self.limit_ns = limit_ns;
        self
    }

    /// Starts with what is watched.
    pub fn begin(&mut self, targets: Vec<Target>) {
        self.question.targets = targets;
        let attribution = Attribution::new(self.reader, self.names, &self.question);
        self.attribution = Some(match self.limit_ns {
            Some(limit_ns) => attribution.until(limit_ns),
            None => attribution,
        });
    }

    /// Whether it has started.
    pub const fn has_started(&self) -> bool {
        self.attribution.is_some()
    }

    /// Gaps of a CPU.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(functions) = &mut self.functions {
            functions.gaps(cpu, gaps);
        }
        if let Some(attribution) = &mut self.attribution {
            attribution.gaps(cpu, gaps);
        }
    }

    /// Names of threads.
    pub fn known(&mut self, comms: HashMap<i32, String>) {
        match &mut self.attribution {
            Some(attribution) => attribution.known(comms),
            None => self.question.comms.extend(comms),
        }
    }

    /// The next event; whether more are wanted.
    pub fn event(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        let Some(attribution) = &mut self.attribution else {
            return ControlFlow::Break(());
        };
        attribution.event(event);
        match attribution.found() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// The next record of a function.
    pub fn function(&mut self, event: &Event<'_>) {
        if let Some(functions) = &mut self.functions {
            functions.event(event);
        }
    }

    /// No record of a function will come of the time until then.
    pub fn functions_pass(&mut self, to: u64) {
        if let Some(functions) = &mut self.functions {
            functions.pass(to);
        }
    }

    /// In which functions the time of the longest gaps went, at the end.
    pub fn functions(&mut self) -> Vec<GapFunctions> {
        let functions = self.functions.take();
        functions.map_or_else(Vec::new, |functions| functions.finish(self.names))
    }

    /// No event will come of the time until then.
    pub fn pass(&mut self, to: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.pass(to);
        }
    }

    /// The first gap of the length of [`GapJoin::until`], and its CPU.
    pub fn found(&self) -> Option<(u32, Gap)> {
        self.attribution.as_ref()?.found()
    }

    /// When the window of a CPU ends.
    pub fn ends(&mut self, cpu: u32, end: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ends(cpu, end);
        }
    }

    /// The answer, and the question.
    pub fn finish(self) -> (Answer, Question) {
        let answer = self.attribution.map(Attribution::finish).unwrap_or_default();
        (answer, self.question)
    }
}

/// The first name space of processes (`PROC_PID_INIT_INO`), by whose numbers the kernel's events go.
const INITIAL: &str = "pid:[4026531836]";

/// Names of the threads that there are; none where `/proc` numbers them otherwise than the kernel's events.
pub fn names(root: &Root, machine: &Machine) -> HashMap<i32, String> {
    if root.link("/proc/self/ns/pid").ok().flatten().as_deref() != Some(INITIAL) {
        return HashMap::new();
    }
    let tasks = machine.clone().with_tasks(root).tasks.unwrap_or_default();
    let pair = |task: machine::Task| (task.key.tid.cast_signed(), task.comm);
    tasks.into_iter().map(pair).collect()
}
