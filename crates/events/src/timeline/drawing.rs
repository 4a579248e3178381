//! Draws a trace without interpretation: paired start and end events on a CPU are a bar, running threads are bars on a
//! separate line, all other events are points.

use super::{Fact, Mark, Timeline, Track};
use crate::text::fields;
use std::collections::BTreeMap;

/// Suffixes of paired names (`irq_handler_entry`, `workqueue_execute_start`). The start of a timer is not one: it ends
/// elsewhere, or never.
const PAIRS: &[(&str, &str)] = &[
    ("_entry", "_exit"),
    ("_execute_start", "_execute_end"),
    ("_begin", "_end"),
];

/// A drawing that grows event by event.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    cpus: BTreeMap<u32, Cpu>,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    marks: Vec<Mark>,
    /// Events that have started and not ended, with the common part of both names, the latest last.
    open: Vec<(String, Mark)>,
    runs: Vec<Mark>,
    running: Option<Mark>,
}

impl Drawing {
    /// An empty timeline.
    #[must_use]
    pub fn new() -> Drawing {
        Drawing::default()
    }

    /// Adds an event: its CPU, its time in nanoseconds, its name, its text. Events of a CPU must be sorted by time.
    pub fn take(&mut self, cpu: u32, at_ns: u64, name: &str, text: &str) {
        let cpu = self.cpus.entry(cpu).or_default();
        if name == "sched_switch" {
            cpu.switch(at_ns, text);
            return;
        }
        let mark = Mark {
            at_ns,
            lasts_ns: None,
            name: name.to_owned(),
            category: name.to_owned(),
            facts: facts(name, text),
        };
        let begins = PAIRS.iter().find_map(|(begin, _)| name.strip_suffix(begin));
        let ends = PAIRS.iter().find_map(|(_, end)| name.strip_suffix(end));
        match (begins, ends) {
            (Some(what), _) => cpu.open.push((what.to_owned(), mark)),
            (_, Some(what)) => cpu.end(what, mark),
            _ => cpu.marks.push(mark),
        }
    }

    /// The drawing. An event without an end is a point at its start.
    #[must_use]
    pub fn finish(self, title: &str) -> Timeline {
        let mut tracks = Vec::new();
        for (number, mut cpu) in self.cpus {
            cpu.marks.extend(cpu.open.into_iter().map(|(_, mark)| mark));
            cpu.runs.extend(cpu.running);
            for (name, marks) in [
                (format!("CPU {number}"), cpu.marks),
                (format!("CPU {number} runs"), cpu.runs),
            ] {
                if !marks.is_empty() {
                    tracks.push(Track { name, marks });
                }
            }
        }
        Timeline {
            title: title.to_owned(),
            tracks,
        }
    }
}

impl Cpu {
    /// The end belongs to the latest start with that name. Later starts without an end have lost it.
    fn end(&mut self, what: &str, end: Mark) {
        let Some(place) = self.open.iter().rposition(|(open, _)| open == what) else {
            self.marks.push(end);
            return;
        };
        let mut closed = self.open.split_off(place).into_iter();
        if let Some((what, mut bar)) = closed.next() {
            bar.lasts_ns = Some(end.at_ns.saturating_sub(bar.at_ns));
            bar.name = what;
            bar.category.clone_from(&bar.name);
            for fact in end.facts {
                if !bar.facts.contains(&fact) {
                    bar.facts.push(fact);
                }
            }
            self.marks.push(bar);
        }
        self.marks.extend(closed.map(|(_, mark)| mark));
    }

    fn switch(&mut self, at_ns: u64, text: &str) {
        if let Some(mut ran) = self.running.take() {
            ran.lasts_ns = Some(at_ns.saturating_sub(ran.at_ns));
            self.runs.push(ran);
        }
        let all = fields("sched_switch", text);
        let of = |name: &str| {
            let found = all.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.trim())
        };
        // The idle task is displayed as a line without a bar.
        if let (Some(comm), Some(pid)) = (of("next_comm"), of("next_pid").filter(|pid| *pid != "0")) {
            self.running = Some(Mark {
                at_ns,
                lasts_ns: None,
                name: comm.to_owned(),
                category: String::from("task"),
                facts: vec![(String::from("pid"), Fact::Text(pid.to_owned()))],
            });
        }
    }
}

fn facts(name: &str, text: &str) -> Vec<(String, Fact)> {
    let fact = |(key, value): (&str, &str)| {
        let value = value
            .parse()
            .map_or_else(|_| Fact::Text(value.to_owned()), Fact::Number);
        (key.to_owned(), value)
    };
    let found: Vec<(String, Fact)> = fields(name, text).into_iter().map(fact).collect();
    if found.is_empty() && !text.is_empty() {
        return vec![(String::from("text"), Fact::Text(text.to_owned()))];
    }
    found
}
