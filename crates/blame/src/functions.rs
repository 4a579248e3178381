//! Shows in which kernel functions the time of the longest gaps was spent: joins the records of the function_graph tracer with
//! gaps as they arrive.
//!
//! A record reports a function's start or return. The time between two records of a CPU belongs to the innermost function
//! that has not returned: its own time, without its callees and what interrupted it.

use crate::gaps::Gap;
use events::{AddressNames, Field, Formats, StreamItem};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// Number of functions of a gap that are reported by name.
const MOST_FUNCTIONS: usize = 8;
/// Maximum call depth; the kernel's own limit is lower.
const DEEPEST: usize = 512;
/// Maximum number of threads whose calls are followed on a CPU; beyond that all start again.
const THREADS: usize = 4_096;

/// The functions in which the time of one gap was spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapFunctions {
    /// CPU of the gap.
    pub cpu: u32,
    /// Its start, on the trace clock.
    pub start_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// The part of it in traced functions.
    pub in_functions_ns: u64,
    /// The functions with the most own time, most first.
    pub functions: Vec<FunctionTime>,
    /// Number of other functions.
    pub left_out: usize,
    /// Their total time.
    pub left_out_ns: u64,
}

/// The time of one function in a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionTime {
    /// Its name, or its address if the kernel hides names.
    pub name: String,
    /// Number of calls in the gap.
    pub calls: u64,
    /// Time in it, without its callees and what interrupted it.
    pub net_ns: u64,
    /// The call chain of the longest stretch of that time, outermost first.
    pub way: Vec<String>,
}

/// The report of one run of the tracer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionsReport {
    /// The kernel's tracer; `None` if none ran.
    pub by: Option<&'static str>,
    /// Why none ran.
    pub why: Option<String>,
    /// Records that the kernel dropped: if there are any, some functions' time is missing.
    pub lost: u64,
    /// The same for each CPU with losses.
    pub lost_of: Vec<LostRecords>,
    /// The longest gaps of each CPU, and the functions in which their time was spent.
    pub gaps: Vec<GapFunctions>,
}

/// Function records that did not fit into a CPU's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostRecords {
    /// The CPU.
    pub cpu: u32,
    /// Their number, as the kernel counted for its buffer.
    pub lost: u64,
}

/// Reads those records.
#[derive(Clone, Debug)]
struct Graph {
    entry: FunctionEventFields,
    exit: FunctionEventFields,
}

/// A start or a return.
#[derive(Clone, Debug)]
struct FunctionEventFields {
    id: u16,
    function: Field,
    depth: Field,
}

/// Collects the functions of gaps.
pub struct Functions<'f> {
    formats: &'f Formats,
    graph: Graph,
    /// Number of gaps to keep per CPU.
    most: usize,
    lanes: Vec<FunctionLane>,
}

/// One CPU.
#[derive(Default)]
struct FunctionLane {
    cpu: u32,
    /// Gaps that have not passed yet.
    gaps: VecDeque<Gap>,
    /// Open calls of each thread, indexed by depth; 0 if the start was not recorded.
    stacks: HashMap<i32, Vec<u64>>,
    /// The thread of the last record.
    pid: i32,
    /// End of the time that has been attributed.
    at: u64,
    /// Of the first gap.
    tallies: HashMap<u64, FunctionTally>,
    stored_gaps: Vec<(Gap, HashMap<u64, FunctionTally>)>,
}

#[derive(Clone, Debug, Default)]
struct FunctionTally {
    calls: u64,
    net_ns: u64,
    longest_ns: u64,
    way: Vec<u64>,
}

impl<'f> Functions<'f> {
    /// Observes some CPUs and keeps this many of the longest gaps of each. `None` if this kernel does not describe such
    /// records.
    #[must_use]
    pub fn new(formats: &'f Formats, cpus: impl Iterator<Item = u32>, most: usize) -> Option<Functions<'f>> {
        let of = |name: &str| {
            let format = formats.named("ftrace", name)?;
            Some(FunctionEventFields {
                id: format.id,
                function: format.field("func")?.clone(),
                depth: format.field("depth")?.clone(),
            })
        };
        let lane = |cpu| FunctionLane {
            cpu,
            ..FunctionLane::default()
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

    /// Adds gaps of a CPU, in order of time. They must arrive before the first record in them or after them.
    pub fn gaps(&mut self, cpu: u32, gaps: &[Gap]) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu == cpu) {
            lane.gaps.extend(gaps);
        }
    }

    /// The next item of the trace, in order of time.
    pub fn event(&mut self, event: &StreamItem<'_>) {
        let (StreamItem::Record { cpu, .. } | StreamItem::Lost { cpu, .. } | StreamItem::Broken { cpu, .. }) = event;
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.cpu == *cpu) else {
            return;
        };
        let StreamItem::Record { record, .. } = event else {
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

    /// No more records before this time: gaps that end before it can be finished. Time in a function waits for the next
    /// record, which shows whether any were lost before it.
    pub fn pass(&mut self, to: u64) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.stack().is_empty()) {
            lane.pass(to, self.most);
        }
    }

    /// The longest gaps of each CPU, the longest first.
    #[must_use]
    pub fn finish(mut self, names: &dyn AddressNames) -> Vec<GapFunctions> {
        for lane in &mut self.lanes {
            // Time after the last record is unknown.
            lane.stacks.clear();
            lane.pass(u64::MAX, self.most);
        }
        let lanes = self.lanes.into_iter();
        let gaps = lanes.flat_map(|lane| {
            lane.stored_gaps
                .into_iter()
                .map(move |(gap, tallies)| (lane.cpu, gap, tallies))
        });
        gaps.map(|(cpu, gap, tallies)| gap_functions(cpu, gap, tallies, names))
            .collect()
    }
}

impl FunctionLane {
    /// The open calls of the last record's thread.
    fn stack(&self) -> &[u64] {
        self.stacks.get(&self.pid).map_or(&[], Vec::as_slice)
    }

    /// Attributes the time up to then to the innermost open call.
    fn pass(&mut self, to: u64, most: usize) {
        while let Some(gap) = self.gaps.front().copied().filter(|gap| gap.start < to) {
            let slice_ns = gap.end.min(to).saturating_sub(gap.start.max(self.at));
            let stack = self.stacks.get(&self.pid).map_or(&[][..], Vec::as_slice);
            if let Some(function) = stack.last().copied().filter(|function| *function != 0 && slice_ns > 0) {
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
            self.store(gap, tallies, most);
        }
        self.at = self.at.max(to);
    }

    fn store(&mut self, gap: Gap, tallies: HashMap<u64, FunctionTally>, most: usize) {
        let place = self
            .stored_gaps
            .partition_point(|(stored, _)| length(*stored) >= length(gap));
        if place < most {
            self.stored_gaps.insert(place, (gap, tallies));
            self.stored_gaps.truncate(most);
        }
    }
}

const fn length(gap: Gap) -> u64 {
    gap.end.saturating_sub(gap.start)
}

fn gap_functions(cpu: u32, gap: Gap, tallies: HashMap<u64, FunctionTally>, names: &dyn AddressNames) -> GapFunctions {
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
            way: tally.way.iter().rev().skip(1).rev().map(|above| name(*above)).collect(),
        })
        .collect();
    all.sort_unstable_by(|a, b| b.net_ns.cmp(&a.net_ns).then_with(|| a.name.cmp(&b.name)));
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
