//! Takes the pages out of the buffers while they fill, into memory of a bounded size, and gives their events out in the order
//! of time as soon as every CPU has told what lies before them.
//!
//! Memory holds what was not given out yet. When it is full, pages stay in the kernel, which counts what it has to drop.

use crate::TraceError;
use crate::source::{Source, Way};
use crate::stats::Stats;
use events::{Event, Flow, Layout};
use machine::CpuId;
use root::Root;
use std::ops::ControlFlow;

/// The time of an event is read before it can be read: between lies the writing of it, and whatever interrupts that, also the
/// hypervisor. A CPU whose buffer is empty has told everything that is older than this; what comes even later is told as
/// lost.
///
/// That is no proof, and there is none to be had from outside. The kernel takes the time of an event before it reserves its
/// place and shows a reader only what is committed; neither `stats` nor the pages tell of a writer in between. Only an event
/// that this CPU writes afterwards would prove it, for which it would have to be disturbed. So the margin is far above what a
/// writer needs, a CPU that is stopped for longer costs names and not their truth, and at the end, when the trace is off, the
/// rest is read without it.
const WRITING_NS: u64 = 20_000_000;

/// Pages of each CPU for which there is room, however little memory there may be.
const LEAST_PAGES: usize = 4;

/// Reads the buffers of some CPUs.
pub struct Recorder {
    layout: Layout,
    cpus: Vec<Cpu>,
    flow: Flow,
    /// Bytes that may wait in all.
    most: usize,
    was_full: bool,
    has_ended: bool,
    page: Vec<u8>,
}

struct Cpu {
    cpu: CpuId,
    source: Source,
    /// All events before have been read.
    told_ns: u64,
}

/// Whether the buffers are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// They were, but for what came meanwhile.
    Empty,
    /// There was no room for more.
    Full,
}

/// What became of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The kernel's account of each CPU, after the last read.
    pub stats: Vec<(CpuId, Stats)>,
    /// Memory was full at some time, and the kernel had to keep what came then.
    pub was_full: bool,
    /// Events that came when others of a later time had been given out. Each was told as lost.
    pub late: u64,
    /// The last pages.
    pub last: Flow,
}

impl Recorder {
    /// Opens the buffers of an instance. `most` is the memory for pages that wait, in bytes; of each CPU `kept` pages stay
    /// when they have been given out.
    ///
    /// # Errors
    /// A buffer that cannot be opened.
    pub fn open(
        instance: &str,
        cpus: &[CpuId],
        layout: Layout,
        most: usize,
        kept: usize,
        way: Way,
    ) -> Result<Recorder, TraceError> {
        let open = |cpu: &CpuId| {
            Ok(Cpu {
                cpu: *cpu,
                source: Source::open(&format!("{instance}/per_cpu/cpu{cpu}/trace_pipe_raw"), way)?,
                told_ns: 0,
            })
        };
        let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
        Ok(Recorder {
            layout,
            cpus: cpus.iter().map(open).collect::<Result<_, TraceError>>()?,
            flow: Flow::of(&numbers, layout, kept),
            most: most.max(cpus.len() * LEAST_PAGES * layout.page_len),
            was_full: false,
            has_ended: false,
            page: vec![0; layout.page_len],
        })
    }

    /// The trace has ended: what is in the buffers now is all.
    pub fn ends(&mut self) {
        self.has_ended = true;
    }

    /// Takes what is there now, without waiting, as far as there is room. `now_ns` is the clock of the trace. What comes while
    /// this reads is left for the next time: the CPU that reads has events of its own all the while.
    ///
    /// Without room one page is taken all the same, of the CPU that is furthest behind: nothing that the others told can be given
    /// out until it has told as much, so without this there would never be room again.
    ///
    /// # Errors
    /// A buffer that cannot be read.
    pub fn drain(&mut self, now_ns: impl Fn() -> u64) -> Result<Drained, TraceError> {
        let mut done = vec![false; self.cpus.len()];
        let begun_ns = if self.has_ended { u64::MAX } else { now_ns() };
        loop {
            // Who is furthest behind comes first: the others wait for it.
            let behind = (0..)
                .zip(&mut self.cpus)
                .zip(&mut done)
                .filter(|(_, done)| !**done);
            let Some(((place, cpu), done)) = behind.min_by_key(|((_, cpu), _)| cpu.told_ns) else {
                return Ok(Drained::Empty);
            };
            let has_room = self.flow.waiting() + self.page.len() <= self.most;
            let asked = now_ns();
            let read = cpu.source.read(&mut self.page, &self.layout)?;
            if read == 0 {
                let told = match self.has_ended {
                    true => u64::MAX,
                    false => asked.saturating_sub(WRITING_NS),
                };
                cpu.told_ns = cpu.told_ns.max(told);
                *done = true;
                continue;
            }
            // A kernel gives whole pages; the rest of a shorter one says nothing.
            self.page.iter_mut().skip(read).for_each(|byte| *byte = 0);
            self.flow.put(place, &self.page);
            // What comes on this CPU later is not older than this page.
            if let Some(first) = self.flow.newest(place) {
                cpu.told_ns = cpu.told_ns.max(first);
                *done = first > begun_ns;
            }
            if !has_room {
                return Ok(Drained::Full);
            }
        }
    }

    /// Until when all CPUs have told everything, on the clock of the trace.
    #[must_use]
    pub fn told_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.told_ns).min().unwrap_or(u64::MAX)
    }

    /// Bytes that wait to be given out.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.flow.waiting()
    }

    /// Notes that there is no room, and that nothing can be given out to make some.
    pub fn is_full(&mut self) {
        self.was_full = true;
    }

    /// Gives out the events before a time, in the order of time; all that there are without one. So many at once, because the
    /// buffers fill meanwhile: whether that was all.
    pub fn take(
        &mut self,
        until: Option<u64>,
        most: usize,
        each: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> bool {
        self.flow.take(until, most, each)
    }

    /// Ends it, and reads the kernel's account of each buffer.
    ///
    /// # Errors
    /// An account that cannot be read.
    pub fn finish(self, root: &Root, instance: &str) -> Result<Recorded, TraceError> {
        let mut stats = Vec::new();
        for cpu in &self.cpus {
            let text = root.text(&format!("{instance}/per_cpu/cpu{}/stats", cpu.cpu))?;
            stats.push((cpu.cpu, Stats::parse(&text.unwrap_or_default())));
        }
        Ok(Recorded {
            stats,
            was_full: self.was_full,
            late: self.flow.late(),
            last: self.flow,
        })
    }
}
