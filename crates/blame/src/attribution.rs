//! Turns the event stream of all CPUs into the answer for the requested ones, while events arrive.
//!
//! Gaps and events are joined at once and dropped: only what is in progress, possible later causes and the answer stay in
//! memory. A complete trace takes the same path and gives the same answer.

use crate::answer::BlameResult;
use crate::cpu::CpuTracker;
use crate::gaps::Gap;
use crate::question::BlameQuestion;
use crate::reader::RecordDecoder;
use crate::scene::{BlameState, EventPosition};
use crate::senders::SenderSupport;
use events::{AddressNames, StreamItem};
use std::collections::HashMap;

/// An answer under construction.
pub struct Attribution<'n> {
    reader: &'n RecordDecoder,
    scene: BlameState<'n>,
    cpus: Vec<CpuTracker>,
    /// Time of the last event.
    at: u64,
}

/// Runs the attribution. Events must arrive in order of time.
pub fn attribute<'a>(
    reader: &RecordDecoder,
    names: &dyn AddressNames,
    events: impl Iterator<Item = StreamItem<'a>>,
    question: &BlameQuestion,
) -> BlameResult {
    let mut attribution = Attribution::new(reader, names, question);
    for event in events {
        attribution.event(&event);
    }
    attribution.finish()
}

impl<'n> Attribution<'n> {
    /// Starts without events. The end of a window may be far away, and set by [`Attribution::ends`] later; gaps can be added
    /// later, by [`Attribution::gaps`].
    #[must_use]
    pub fn new(reader: &'n RecordDecoder, names: &'n dyn AddressNames, question: &BlameQuestion) -> Attribution<'n> {
        let tells = SenderSupport::of(reader.formats());
        let targets = question.targets.iter();
        Attribution {
            reader,
            scene: BlameState::new(names, tells, question.comms.clone()),
            cpus: targets.map(|target| CpuTracker::new(target, question.keep)).collect(),
            at: 0,
        }
    }

    /// Searches for the first gap of at least this length. Ignores everything after it.
    #[must_use]
    pub fn until(mut self, limit_ns: u64) -> Attribution<'n> {
        self.cpus.iter_mut().for_each(|cpu| cpu.limit_ns = limit_ns);
        self
    }

    /// The gap of [`Attribution::until`] and its CPU.
    #[must_use]
    pub fn found(&self) -> Option<(u32, Gap)> {
        let found = self.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.found?)));
        found.min_by_key(|(_, gap)| gap.end)
    }

    /// Gaps that the victim measured on a CPU. They must arrive before the first event in them or after them.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(target) = self.cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.add_gaps(gaps);
        }
    }

    /// Names of threads that no event reports.
    pub fn known(&mut self, comms: HashMap<i32, String>) {
        self.scene.known(comms);
    }

    /// The next item of the stream, in the order of time.
    pub fn event(&mut self, event: &StreamItem<'_>) {
        if self.found().is_some() {
            return;
        }
        match *event {
            StreamItem::Record { cpu, record } => {
                self.at = record.at;
                let common = self.reader.formats().common(record.payload);
                if let (Some(common), Some(kernel_event)) = (common, self.reader.read(&record)) {
                    let now = EventPosition {
                        cpu,
                        at: record.at,
                        common,
                    };
                    self.scene.process(&mut self.cpus, &now, &kernel_event);
                }
            }
            StreamItem::Lost { cpu, count } => self.scene.lost(&mut self.cpus, cpu, count.unwrap_or(1)),
            StreamItem::Broken { cpu, .. } => self.scene.lost(&mut self.cpus, cpu, 1),
        }
    }

    /// No more events before this time: gaps that end before it can be finished.
    pub fn pass(&mut self, to: u64) {
        self.cpus.iter_mut().for_each(|cpu| cpu.pass(to));
    }

    /// Sets the end of a CPU's window. No event after it has been passed yet.
    pub fn ends(&mut self, cpu: u32, end: u64) {
        if let Some(target) = self.cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.end_at(end);
        }
    }

    /// The answer. The windows end at their set end, or at the gap found.
    #[must_use]
    pub fn finish(mut self) -> BlameResult {
        if let Some((_, gap)) = self.found() {
            // Everything else observed, on any of them, is in its sums.
            let seen = self.cpus.iter().map(|cpu| cpu.at);
            let end = seen.fold(gap.end.max(self.at), u64::max);
            self.cpus.iter_mut().for_each(|cpu| cpu.end_at(end));
        }
        BlameResult {
            cpus: self.cpus.into_iter().map(CpuTracker::finish).collect(),
        }
    }
}
