//! Reads pages from the buffers while they fill, into memory of a bounded size. Delivers their events in order of time once
//! all CPUs have been read up to that time.
//!
//! Memory holds only undelivered events. When it is full, pages stay in the kernel, which counts the events that it drops.

use crate::TraceError;
use crate::source::{BufferSource, PageAccess};
use crate::stats::Stats;
use events::{Flow, PageLayout, StreamItem};
use machine::CpuId;
use root::Root;
use std::ops::ControlFlow;

/// An event's timestamp is taken before the event is readable: writing it takes time, and an interrupt or the hypervisor may
/// delay the write. If a CPU's buffer is empty, all its events older than this margin count as read. Events that arrive even
/// later are reported as lost.
///
/// This is not a proof, and none is possible from outside. The kernel takes an event's timestamp before it reserves its
/// space, and shows readers only committed events; neither `stats` nor the pages reveal a writer in between. Only a later
/// event of the same CPU would prove it, but creating one would disturb that CPU. So the margin is far larger than a
/// write takes: in an emulator that runs four CPUs in one thread, on a busy host, an event became readable at least 65 ms
/// late. If a CPU is stopped for longer, the result lacks names but is
/// not wrong. A larger margin costs memory for the undelivered events. At the end, when the trace of events is off, the rest is
/// read without the margin.
const WRITE_MARGIN_NS: u64 = 200_000_000;

/// Minimum number of pages of memory per CPU, even if memory is short.
const LEAST_PAGES: usize = 4;

/// Records the buffers of several CPUs.
pub struct Recorder {
    layout: PageLayout,
    cpus: Vec<CpuBuffer>,
    flow: Flow,
    /// Maximum number of undelivered bytes.
    most: usize,
    was_full: bool,
    has_ended: bool,
    page: Vec<u8>,
}

/// The memory that a recorder may use for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMemory {
    /// Bytes of pages with undelivered events.
    pub undelivered_bytes: usize,
    /// Pages of each CPU that stay in memory after delivery.
    pub kept_pages: usize,
}

struct CpuBuffer {
    cpu: CpuId,
    source: BufferSource,
    /// All events before this time have been read.
    read_until_ns: u64,
}

/// Why a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainEnd {
    /// The buffers were empty, except for events that arrived during the drain.
    Empty,
    /// The memory was full.
    Full,
}

/// The outcome of a recording.
#[derive(Clone, Debug)]
pub struct RecordingOutcome {
    /// The kernel's statistics of each CPU's buffer, after the last read.
    pub stats: Vec<(CpuId, Stats)>,
    /// Memory was full at some time, so the kernel had to keep newer events.
    pub was_full: bool,
    /// The pages that were read last.
    pub last: Flow,
}

impl Recorder {
    /// Opens the buffers of an instance.
    ///
    /// # Errors
    /// A buffer that cannot be opened.
    pub fn open(
        instance: &str,
        cpus: &[CpuId],
        layout: PageLayout,
        memory: PageMemory,
        way: PageAccess,
    ) -> Result<Recorder, TraceError> {
        let open = |cpu: &CpuId| {
            Ok(CpuBuffer {
                cpu: *cpu,
                source: BufferSource::open(&format!("{instance}/per_cpu/cpu{cpu}/trace_pipe_raw"), way)?,
                read_until_ns: 0,
            })
        };
        let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
        Ok(Recorder {
            layout,
            cpus: cpus.iter().map(open).collect::<Result<_, TraceError>>()?,
            flow: Flow::of(&numbers, layout, memory.kept_pages),
            most: memory.undelivered_bytes.max(cpus.len() * LEAST_PAGES * layout.page_len),
            was_full: false,
            has_ended: false,
            page: vec![0; layout.page_len],
        })
    }

    /// Records that the trace has ended: the buffers get no more events.
    pub fn ends(&mut self) {
        self.has_ended = true;
    }

    /// Reads the available pages without waiting, as far as there is room. `now_ns` is the trace's clock. Events that arrive
    /// during this call are left for the next one, because reading itself causes events on its CPU.
    ///
    /// If there is no room, it still reads one page of the CPU that is furthest behind. Events of the other CPUs cannot be
    /// delivered until that CPU catches up, so memory would never become free otherwise.
    ///
    /// # Errors
    /// A buffer that cannot be read.
    pub fn drain(&mut self, now_ns: impl Fn() -> u64) -> Result<DrainEnd, TraceError> {
        let mut done = vec![false; self.cpus.len()];
        let start_ns = if self.has_ended { u64::MAX } else { now_ns() };
        loop {
            // Read the CPU that is furthest behind first: the others wait for it.
            let behind = (0..).zip(&mut self.cpus).zip(&mut done).filter(|(_, done)| !**done);
            let Some(((place, cpu), done)) = behind.min_by_key(|((_, cpu), _)| cpu.read_until_ns) else {
                return Ok(DrainEnd::Empty);
            };
            let has_room = self.flow.waiting() + self.page.len() <= self.most;
            let before_ns = now_ns();
            let read = cpu.source.read(&mut self.page, &self.layout)?;
            if read == 0 {
                let until_ns = match self.has_ended {
                    true => u64::MAX,
                    false => before_ns.saturating_sub(WRITE_MARGIN_NS),
                };
                cpu.read_until_ns = cpu.read_until_ns.max(until_ns);
                *done = true;
                continue;
            }
            // The kernel returns whole pages; clear the rest after a shorter read.
            self.page.iter_mut().skip(read).for_each(|byte| *byte = 0);
            self.flow.add_page(place, &self.page);
            // Later pages of this CPU are not older than this page.
            if let Some(first) = self.flow.newest(place) {
                cpu.read_until_ns = cpu.read_until_ns.max(first);
                *done = first > start_ns;
            }
            if !has_room {
                return Ok(DrainEnd::Full);
            }
        }
    }

    /// The time up to which all CPUs have been read, on the trace's clock.
    #[must_use]
    pub fn read_until_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.read_until_ns).min().unwrap_or(u64::MAX)
    }

    /// Number of undelivered bytes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.flow.waiting()
    }

    /// Records that memory is full, and that no event can be delivered to free some.
    pub fn is_full(&mut self) {
        self.was_full = true;
    }

    /// Delivers the events before `until` in order of time; all events if it is `None`. Delivers at most `most` events, because
    /// the buffers fill during the call. Returns whether all were delivered.
    pub fn take(
        &mut self,
        until: Option<u64>,
        most: usize,
        each: impl FnMut(StreamItem<'_>) -> ControlFlow<()>,
    ) -> bool {
        self.flow.take(until, most, each)
    }

    /// Ends the recording, and reads the kernel's statistics of each buffer.
    ///
    /// # Errors
    /// Statistics that cannot be read.
    pub fn finish(self, root: &Root, instance: &str) -> Result<RecordingOutcome, TraceError> {
        let mut stats = Vec::new();
        for cpu in &self.cpus {
            let text = root.text(&format!("{instance}/per_cpu/cpu{}/stats", cpu.cpu))?;
            stats.push((cpu.cpu, Stats::parse(&text.unwrap_or_default())));
        }
        Ok(RecordingOutcome {
            stats,
            was_full: self.was_full,
            last: self.flow,
        })
    }
}
