//! Implements `--break`: the first gap that is too long ends the run, and the report shows the kernel events around it.
//!
//! A probe's sampler stops the trace itself, with one system call at that sample. After that nothing is written that could
//! displace the relevant events. A program's gap is found in the event stream, some 200 ms later
//! (the margin of `trace::Recorder`).

use crate::event_stream::TraceEnd;
use crate::trace_clock::TraceClock;
use blame::{BlameResult, Class, CpuAnswer, Gap, GapStory};
use events::{ClockUnit, LineFormatter, PageRecord, StreamItem};
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// The maximum number of lines.
const MOST: usize = 40;
/// Of these, lines before the gap on its CPU.
const BEFORE: usize = 10;
/// And the last lines, which show how the CPU returned.
const LAST: usize = 10;
/// How long before the gap another CPU may have caused it.
const CAUSE_NS: u64 = 1_000_000;
/// The last event of an interruption may be this much later than the probe's first sample after it.
const AFTER_NS: u64 = 2_000;

/// The gap that ended the run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitGap {
    #[serde(skip)]
    clock: TraceClock,
    /// Its CPU.
    cpu: u32,
    /// On the clock of the report.
    start_ns: u64,
    /// Its length.
    duration_ns: u64,
    /// The limit that it reached.
    limit_ns: u64,
    /// Its parts, in order of time.
    pieces: Vec<LimitGapPart>,
    /// The kernel events before and during the gap, in order of time.
    events: Vec<String>,
    /// The number of omitted events.
    events_left_out: usize,
    /// The index in `events` where they were omitted.
    left_out_after: usize,
}

/// A part of the gap, and what took it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LimitGapPart {
    /// Its start, on the clock of the report.
    start_ns: u64,
    /// Its length.
    duration_ns: u64,
    /// `None` if no event explains it.
    class: Option<Class>,
    /// What took it; `None` if no event explains it.
    name: Option<String>,
}

impl LimitGap {
    /// The longest gap of that CPU, which is the one that ended the measurement.
    pub fn longest(cpu: u32, limit_ns: u64, answer: &BlameResult, trace: &TraceEnd) -> Option<LimitGap> {
        let of = answer.cpus.iter().find(|of| of.cpu == cpu)?;
        let story = of.stories.iter().max_by_key(|story| length(story.gap))?;
        Some(LimitGap::of(of, story, limit_ns, trace))
    }

    /// That gap, if it was kept.
    pub fn at(cpu: u32, gap: Gap, limit_ns: u64, answer: &BlameResult, trace: &TraceEnd) -> Option<LimitGap> {
        let of = answer.cpus.iter().find(|of| of.cpu == cpu)?;
        let story = of.stories.iter().find(|story| story.gap == gap)?;
        Some(LimitGap::of(of, story, limit_ns, trace))
    }

    fn of(cpu: &CpuAnswer, story: &GapStory, limit_ns: u64, trace: &TraceEnd) -> LimitGap {
        let part = |piece: &blame::StoryPiece| {
            let row = piece.row.and_then(|row| cpu.interruptions.get(row));
            LimitGapPart {
                start_ns: piece.span.start,
                duration_ns: length(piece.span),
                class: row.map(|row| row.class),
                name: row.map(|row| row.name.clone()),
            }
        };
        let around = around(story.gap, cpu.cpu, trace);
        LimitGap {
            cpu: cpu.cpu,
            clock: trace.clock,
            start_ns: story.gap.start,
            duration_ns: length(story.gap),
            limit_ns,
            pieces: story.pieces.iter().map(part).collect(),
            events: around.events,
            events_left_out: around.left_out,
            left_out_after: around.left_out_after,
        }
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "\nCPU {}: the gap that ended it: {}, at {}.{:06} s of {}\n",
            self.cpu,
            machine::Nanos(self.duration_ns),
            self.start_ns / 1_000_000_000,
            self.start_ns / 1_000 % 1_000_000,
            self.clock.posix_name()
        );
        for part in &self.pieces {
            let after_ns = part.start_ns.saturating_sub(self.start_ns);
            let name = part.name.as_deref().unwrap_or("no event explains this part");
            let _ = writeln!(
                text,
                "  after {:>10} for {:>10}  {}",
                machine::Nanos(after_ns).to_string(),
                machine::Nanos(part.duration_ns).to_string(),
                report::safe(name)
            );
        }
        for (place, line) in self.events.iter().enumerate() {
            if self.events_left_out > 0 && place == self.left_out_after {
                let _ = writeln!(text, "  ... {} more events ...", self.events_left_out);
            }
            let _ = writeln!(text, "{}", report::safe(line));
        }
        text
    }
}

const fn length(gap: Gap) -> u64 {
    gap.end.saturating_sub(gap.start)
}

/// Lines about a gap.
struct GapSurroundings {
    events: Vec<String>,
    left_out: usize,
    /// The index where lines were omitted.
    left_out_after: usize,
}

/// What the CPU did shortly before and during the gap, and what other CPUs did to it in that time.
fn around(gap: Gap, cpu: u32, trace: &TraceEnd) -> GapSurroundings {
    let reader = &trace.kernel.reader;
    let names = &trace.kernel.catalogue.names;
    let mut lines = LineFormatter::new(reader.formats(), names, &trace.comms, ClockUnit::Nanos);
    let mut line = |on: u32, record: &PageRecord| {
        let mut line = String::new();
        lines.write(&mut line, on, record);
        line
    };
    let (mut before, mut within) = (Vec::new(), Vec::new());
    let mut last = VecDeque::new();
    let (mut had, mut left_out) = (0, 0);
    for event in trace.recorded.last.stored_events() {
        let StreamItem::Record { cpu: on, record } = event else {
            continue;
        };
        if record.at > gap.end + AFTER_NS {
            break;
        }
        let is_cause = || {
            let common = reader.formats().common(record.payload);
            let format = common.and_then(|common| reader.formats().get(common.id));
            format.is_some_and(|format| format.system == "ipi" || format.name == "sched_waking")
        };
        let matters = on == cpu || (record.at + CAUSE_NS >= gap.start && is_cause());
        if !matters {
            continue;
        }
        if record.at < gap.start {
            had += 1;
            before.push((had, on, record));
            if before.len() >= 2 * BEFORE {
                before.drain(..BEFORE);
            }
        } else if within.len() < MOST - BEFORE - LAST {
            within.push(line(on, &record));
        } else {
            last.push_back((on, record));
            if last.len() > LAST {
                last.pop_front();
                left_out += 1;
            }
        }
    }
    let from = before.len().saturating_sub(BEFORE);
    let mut all: Vec<String> = before
        .iter()
        .skip(from)
        .map(|(_, on, record)| line(*on, record))
        .collect();
    all.extend(within);
    let left_out_after = all.len();
    all.extend(last.iter().map(|(on, record)| line(*on, record)));
    GapSurroundings {
        events: all,
        left_out,
        left_out_after,
    }
}
