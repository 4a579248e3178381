//! Joins gaps with kernel events: holds the question of a run, and the answer so far.

use blame::{Attribution, BlameQuestion, BlameResult, BlameTarget, Functions, Gap, GapFunctions, RecordDecoder};
use events::{AddressNames, StreamItem};
use machine::Machine;
use root::Root;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The question of one run, and the answer to it so far.
pub struct GapJoin<'n> {
    reader: &'n RecordDecoder,
    names: &'n dyn AddressNames,
    question: BlameQuestion,
    limit_ns: Option<u64>,
    attribution: Option<Attribution<'n>>,
    functions: Option<Functions<'n>>,
}

impl<'n> GapJoin<'n> {
    /// Creates it with a `question` that has no targets: nothing is watched yet.
    pub fn new(reader: &'n RecordDecoder, names: &'n dyn AddressNames, question: BlameQuestion) -> GapJoin<'n> {
        GapJoin {
            reader,
            names,
            question,
            limit_ns: None,
            attribution: None,
            functions: None,
        }
    }

    /// Joins gaps with kernel functions as well, if they are traced.
    pub fn with(mut self, functions: Option<Functions<'n>>) -> GapJoin<'n> {
        self.functions = functions;
        self
    }

    /// Searches for the first gap of this length.
    pub fn until(mut self, limit_ns: Option<u64>) -> GapJoin<'n> {
        self.limit_ns = limit_ns;
        self
    }

    /// Sets the watched targets.
    pub fn set_targets(&mut self, targets: Vec<BlameTarget>) {
        self.question.targets = targets;
        let attribution = Attribution::new(self.reader, self.names, &self.question);
        self.attribution = Some(match self.limit_ns {
            Some(limit_ns) => attribution.until(limit_ns),
            None => attribution,
        });
    }

    /// Whether the targets are set.
    pub const fn has_started(&self) -> bool {
        self.attribution.is_some()
    }

    /// Adds gaps of a CPU.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(functions) = &mut self.functions {
            functions.gaps(cpu, gaps);
        }
        if let Some(attribution) = &mut self.attribution {
            attribution.gaps(cpu, gaps);
        }
    }

    /// Adds names of threads.
    pub fn known(&mut self, comms: HashMap<i32, String>) {
        match &mut self.attribution {
            Some(attribution) => attribution.known(comms),
            None => self.question.comms.extend(comms),
        }
    }

    /// Adds the next event; returns whether to continue.
    pub fn event(&mut self, event: &StreamItem<'_>) -> ControlFlow<()> {
        let Some(attribution) = &mut self.attribution else {
            return ControlFlow::Break(());
        };
        attribution.event(event);
        match attribution.found() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    /// Adds the next function record.
    pub fn function(&mut self, event: &StreamItem<'_>) {
        if let Some(functions) = &mut self.functions {
            functions.event(event);
        }
    }

    /// All function records before that time have been added.
    pub fn functions_pass(&mut self, to: u64) {
        if let Some(functions) = &mut self.functions {
            functions.pass(to);
        }
    }

    /// At the end, the functions that took the time of the longest gaps.
    pub fn functions(&mut self) -> Vec<GapFunctions> {
        let functions = self.functions.take();
        functions.map_or_else(Vec::new, |functions| functions.finish(self.names))
    }

    /// All events before that time have been added.
    pub fn pass(&mut self, to: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.pass(to);
        }
    }

    /// The first gap of at least [`GapJoin::until`], and its CPU.
    pub fn found(&self) -> Option<(u32, Gap)> {
        self.attribution.as_ref()?.found()
    }

    /// Sets the end of the window of a CPU.
    pub fn ends(&mut self, cpu: u32, end: u64) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ends(cpu, end);
        }
    }

    /// The answer, and the question.
    pub fn finish(self) -> (BlameResult, BlameQuestion) {
        let answer = self.attribution.map(Attribution::finish).unwrap_or_default();
        (answer, self.question)
    }
}

/// The initial PID namespace (`PROC_PID_INIT_INO`), whose numbers the kernel's events use.
const INITIAL: &str = "pid:[4026531836]";

/// Names of all threads; empty if `/proc` shows another PID namespace than the kernel's events.
pub fn names(root: &Root, machine: &Machine) -> HashMap<i32, String> {
    if root.link("/proc/self/ns/pid").ok().flatten().as_deref() != Some(INITIAL) {
        return HashMap::new();
    }
    let tasks = machine.clone().with_tasks(root).tasks.unwrap_or_default();
    let pair = |task: machine::Task| (task.key.tid.cast_signed(), task.comm);
    tasks.into_iter().map(pair).collect()
}
