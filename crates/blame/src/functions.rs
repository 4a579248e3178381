//! In which functions of the kernel the time of the longest gaps went: the records of the function_graph tracer, joined with
//! gaps while they come.
//!
//! A record says that a function begins or returns. What lies between two records of a CPU belongs to the function that was
//! begun last and has not returned: its own time, without what it called and what interrupted it.

use crate::gaps::Gap;
use events::{Event, Field, Formats, Names};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// Functions of a gap that are reported by name.
const MOST_FUNCTIONS: usize = 8;
/// The kernel itself follows fewer calls in each other.
const DEEPEST: usize = 512;
/// Threads whose calls are followed on a CPU; with more, all begin again.
const THREADS: usize = 4_096;

/// In which functions the time of one gap went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapFunctions {
    /// Where the gap was.
    pub cpu: u32,
    /// When it began, on the clock of the trace.
    pub start_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Of that, the time in functions that were traced.
    pub in_functions_ns: u64,
    /// The functions with the most time of their own, most first.
    pub functions: Vec<FunctionTime>,
    /// How many others there were.
    pub left_out: usize,
    /// Their time together.
    pub left_out_ns: u64,
}

/// The time of one function in a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionTime {
    /// Its name, or its address where the kernel hides names.
    pub name: String,
    /// How often it was begun in the gap.
    pub calls: u64,
    /// Time in it, without what it called and what interrupted it.
    pub net_ns: u64,
    /// The functions that led to the longest stretch of that time, the first one first.
    pub way: Vec<String>,
}

/// All that one run of the tracer reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FunctionsReport {
    /// The tracer of the kernel; nothing where none ran.
    pub by: Option<&'static str>,
    /// Why none did.
    pub why: Option<String>,
    /// Records that the kernel could not keep: with any, some time of functions is not told.
    pub lost: u64,
    /// The same of each CPU that lost any.
    pub lost_of: Vec<LostRecords>,
    /// The longest gaps of each CPU, and in which functions their time went.
    pub gaps: Vec<GapFunctions>,
}

/// Records of functions that a CPU had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostRecords {
    /// The CPU.
    pub cpu: u32,
    /// How many, by the kernel's own account of its buffer.
    pub lost: u64,
}

/// Reads those records.
#[derive(Clone, Debug)]
struct Graph {
    entry: Of,
    exit: Of,
}

/// One of the two.
#[derive(Clone, Debug)]
struct Of {
    id: u16,
    function: Field,
    depth: Field,
}

/// Collects them.
pub struct Functions<'f> {
    formats: &'f Formats,
    graph: Graph,
    /// Gaps of each CPU that are kept.
    most: usize,
    lanes: Vec<Lane>,
}

/// One CPU.
#[derive(Default)]
struct Lane {
    cpu: u32,
    /// Gaps that have not passed.
    gaps: VecDeque<Gap>,
    /// What each thread has begun. The place is the depth; 0 where nobody saw the beginning.
    stacks: HashMap<i32, Vec<u64>>,
    /// The thread of the last record.
    pid: i32,
    /// All before has been given to somebody.
    at: u64,
    /// Of the first gap.
    tallies: HashMap<u64, Tally>,
    kept: Vec<(Gap, HashMap<u64, Tally>)>,
    lost: u64,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    calls: u64,
    net_ns: u64,
    longest_ns: u64,
    way: Vec<u64>,
}

impl<'f> Functions<'f> {
    /// For some CPUs, of each of which so many of the longest gaps are kept. Nothing where this kernel does not describe such
    /// records.
    #[must_use]
    pub fn new(formats: &'f Formats, cpus: impl Iterator<Item = u32>, most: usize) -> Option<Functions<'f>> {
        let of = |name: &str| {
            let format = formats.named("ftrace", name)?;
            Some(Of {
                id: format.id,
                function: format.field("func")?.clone(),
                depth: format.field("depth")?.clone(),
            })
        };
        let lane = |cpu| Lane {
            cpu,
            ..Lane::default()
        };
        Some(Functions {
            formats,
            graph: Graph {
                entry: of("funcgraph_entry")?,
                exit: of("funcgraph_exit")?,
            },
            most,
            lanes: cpus.map(lane).collect(),
        })
    }

    /// Gaps of a CPU, in the order of time. They come before the first record that lies in them or after them.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu == cpu) {
            lane.gaps.extend(gaps);
        }
    }

    /// The next item of the trace, in the order of time.
    pub fn event(&mut self, event: &Event<'_>) {
        let (cpu, lost) = match event {
            Event::Record { cpu, .. } => (*cpu, 0),
            Event::Lost { cpu, count } => (*cpu, count.unwrap_or(1)),
            Event::Broken { cpu, .. } => (*cpu, 1),
        };
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu == cpu) else {
            return;
        };
        let Event::Record { record, .. } = event else {
            lane.lost = lane.lost.saturating_add(lost);
            lane.stacks.clear();
            return;
        };
        let Some(common) = self.formats.common(record.payload) else {
            return;
        };
        let of = match common.id {
            id if id == self.graph.entry.id => &self.graph.entry,
            id if id == self.graph.exit.id => &self.graph.exit,
            _ => return,
        };
        let number = |field: &Field| field.unsigned(record.payload, self.formats.endian);
        let (Some(function), Some(depth)) = (number(&of.function), number(&of.depth)) else {
            return;
        };
        let Some(depth) = usize::try_from(depth).ok().filter(|depth| *depth < DEEPEST) else {
            return;
        };
        lane.pass(record.at, self.most);
        lane.pid = common.pid;
        if lane.stacks.len() >= THREADS && !lane.stacks.contains_key(&common.pid) {
            lane.stacks.clear();
        }
        let stack = lane.stacks.entry(common.pid).or_default();
        stack.resize(depth, 0);
        if of.id == self.graph.entry.id {
            stack.push(function);
            if lane.gaps.front().is_some_and(|gap| gap.start <= record.at) {
                lane.tallies.entry(function).or_default().calls += 1;
            }
        }
    }

    /// No record will come of the time until then: gaps that have ended by then can go. Time in a function waits for the next
    /// record, which says whether any were lost before it.
    pub fn pass(&mut self, to: u64) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.stack().is_empty()) {
            lane.pass(to, self.most);
        }
    }

    /// Records that the kernel could not keep.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.lost).sum()
    }

    /// The longest gaps of each CPU, the longest first.
    #[must_use]
    pub fn finish(mut self, names: &dyn Names) -> Vec<GapFunctions> {
        for lane in &mut self.lanes {
            // What came after the last record, nobody says.
            lane.stacks.clear();
            lane.pass(u64::MAX, self.most);
        }
        let lanes = self.lanes.into_iter();
        let gaps = lanes.flat_map(|lane| {
            lane.kept
                .into_iter()
                .map(move |(gap, tallies)| (lane.cpu, gap, tallies))
        });
        gaps.map(|(cpu, gap, tallies)| gap_functions(cpu, gap, tallies, names))
            .collect()
    }
}

impl Lane {
    /// What the thread of the last record has begun.
    fn stack(&self) -> &[u64] {
        self.stacks.get(&self.pid).map_or(&[], Vec::as_slice)
    }

    /// Time until then belongs to what was begun last.
    fn pass(&mut self, to: u64, most: usize) {
        while let Some(gap) = self.gaps.front().copied().filter(|gap| gap.start < to) {
            let slice_ns = gap.end.min(to).saturating_sub(gap.start.max(self.at));
            let stack = self.stacks.get(&self.pid).map_or(&[][..], Vec::as_slice);
            if let Some(function) = stack
                .last()
                .copied()
                .filter(|function| *function != 0 && slice_ns > 0)
            {
                let tally = self.tallies.entry(function).or_default();
                tally.net_ns += slice_ns;
                if slice_ns > tally.longest_ns {
                    tally.longest_ns = slice_ns;
                    tally.way = stack.iter().copied().filter(|function| *function != 0).collect();
                }
            }
            if gap.end > to {
                break;
            }
            self.gaps.pop_front();
            let tallies = std::mem::take(&mut self.tallies);
            self.keep(gap, tallies, most);
        }
        self.at = self.at.max(to);
    }

    fn keep(&mut self, gap: Gap, tallies: HashMap<u64, Tally>, most: usize) {
        let place = self
            .kept
            .partition_point(|(kept, _)| length(*kept) >= length(gap));
        if place < most {
            self.kept.insert(place, (gap, tallies));
            self.kept.truncate(most);
        }
    }
}

const fn length(gap: Gap) -> u64 {
    gap.end.saturating_sub(gap.start)
}

fn gap_functions(cpu: u32, gap: Gap, tallies: HashMap<u64, Tally>, names: &dyn Names) -> GapFunctions {
    let name = |address: u64| match names.symbol(address) {
        Some(symbol) => symbol.function.to_owned(),
        None => format!("{address:#x}"),
    };
    let mut all: Vec<FunctionTime> = tallies
        .into_iter()
        .map(|(function, tally)| FunctionTime {
            name: name(function),
            calls: tally.calls,
            net_ns: tally.net_ns,
            // The last one is the function itself.
            way: tally
                .way
                .iter()
                .rev()
                .skip(1)
                .rev()
                .map(|above| name(*above))
                .collect(),
        })
        .collect();
    all.sort_by(|a, b| b.net_ns.cmp(&a.net_ns).then_with(|| a.name.cmp(&b.name)));
    let left = all.split_off(MOST_FUNCTIONS.min(all.len()));
    let sum = |times: &[FunctionTime]| times.iter().map(|time| time.net_ns).sum::<u64>();
    GapFunctions {
        cpu,
        start_ns: gap.start,
        duration_ns: length(gap),
        in_functions_ns: sum(&all) + sum(&left),
        left_out: left.len(),
        left_out_ns: sum(&left),
        functions: all,
    }
}
