//! From the stream of events of all CPUs to the answer for those that were asked about, while they come.
//!
//! Gaps and events are joined at once and let go: what stays is what is in progress, what may be a cause later, and the
//! answer. Who has everything at the beginning gets the same answer, by the same way.

use crate::answer::Answer;
use crate::cpu::Cpu;
use crate::gaps::Gap;
use crate::question::Question;
use crate::reader::Reader;
use crate::scene::{Now, Scene};
use crate::senders::Tells;
use events::{Event, Names};
use std::collections::HashMap;

/// An answer that grows.
pub struct Attribution<'n> {
    reader: &'n Reader,
    scene: Scene<'n>,
    cpus: Vec<Cpu>,
    /// Time of the last event.
    at: u64,
}

/// Answers it. The events must come in the order of time.
pub fn attribute<'a>(
    reader: &Reader,
    names: &dyn Names,
    events: impl Iterator<Item = Event<'a>>,
    question: &Question,
) -> Answer {
    let mut attribution = Attribution::new(reader, names, question);
    for event in events {
        attribution.event(&event);
    }
    attribution.finish()
}

impl<'n> Attribution<'n> {
    /// Nothing has happened yet. The end of a window may be far away, and told by [`Attribution::ends`] later; so may gaps,
    /// by [`Attribution::gaps`].
    #[must_use]
    pub fn new(reader: &'n Reader, names: &'n dyn Names, question: &Question) -> Attribution<'n> {
        let tells = Tells::of(reader.formats());
        let targets = question.targets.iter();
        Attribution {
            reader,
            scene: Scene::new(names, tells, question.comms.clone()),
            cpus: targets.map(|target| Cpu::new(target, question.keep)).collect(),
            at: 0,
        }
    }

    /// Looks for the first gap that is so long. What comes after it is not looked at.
    #[must_use]
    pub fn until(mut self, limit_ns: u64) -> Attribution<'n> {
        self.cpus.iter_mut().for_each(|cpu| cpu.look_for(limit_ns));
        self
    }

    /// The gap of [`Attribution::until`] and its CPU.
    #[must_use]
    pub fn found(&self) -> Option<(u32, Gap)> {
        let found = self.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.found?)));
        found.min_by_key(|(_, gap)| gap.end)
    }

    /// Gaps that the victim saw on a CPU. They come before the first event that lies in them or after them.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(target) = self.cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.put(gaps);
        }
    }

    /// Names of threads, of which no event tells them.
    pub fn known(&mut self, comms: HashMap<i32, String>) {
        self.scene.known(comms);
    }

    /// The next item of the stream, in the order of time.
    pub fn event(&mut self, event: &Event<'_>) {
        if self.found().is_some() {
            return;
        }
        match *event {
            Event::Record { cpu, record } => {
                self.at = record.at;
                let common = self.reader.formats().common(record.payload);
                if let (Some(common), Some(kernel_event)) = (common, self.reader.read(&record)) {
                    let now = Now {
                        cpu,
                        at: record.at,
                        common,
                    };
                    self.scene.happens(&mut self.cpus, &now, &kernel_event);
                }
            }
            Event::Lost { cpu, count } => self.scene.lost(&mut self.cpus, cpu, count.unwrap_or(1)),
            Event::Broken { cpu, .. } => self.scene.lost(&mut self.cpus, cpu, 1),
        }
    }

    /// No event will come of the time until then: gaps that have ended by then can go.
    pub fn pass(&mut self, to: u64) {
        self.cpus.iter_mut().for_each(|cpu| cpu.pass(to));
    }

    /// When the window of a CPU ends. No event after it has been told yet.
    pub fn ends(&mut self, cpu: u32, end: u64) {
        if let Some(target) = self.cpus.iter_mut().find(|target| target.cpu == cpu) {
            target.end_at(end);
        }
    }

    /// The answer. The windows end where they were said to, or with the gap that was looked for.
    #[must_use]
    pub fn finish(mut self) -> Answer {
        if let Some((_, gap)) = self.found() {
            // What has been looked at besides, on any of them, is in its sums.
            let seen = self.cpus.iter().map(Cpu::looked_to);
            let end = seen.fold(gap.end.max(self.at), u64::max);
            self.cpus.iter_mut().for_each(|cpu| cpu.end_at(end));
        }
        Answer {
            cpus: self.cpus.into_iter().map(Cpu::finish).collect(),
        }
    }
}
