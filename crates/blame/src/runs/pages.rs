//! Finds the longest runs directly in the pages of a trace buffer.
//!
//! A run concerns one CPU only, and needs two numbers per event: its time, and the current thread. So this code neither sorts
//! events by time nor reads anything else, which makes it many times as fast as passing events one by one to
//! [`LongestRun`](super::LongestRun). Both give the same answer; a test compares them.

use super::{ThreadFilter, ThreadPeriod};
use events::dat::{Buffer, CpuPages};
use events::{CommonValues, Field, Formats, LostEntries, Page};
use std::borrow::Cow;
use std::collections::HashMap;

/// Result for the pages of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunsOfCpu {
    /// The longest run, if a selected thread had one. Its times are on the trace clock.
    pub longest: Option<ThreadPeriod>,
    /// Number of events read.
    pub events: u64,
    /// Losses, page by page: the number of events, if the kernel reports it.
    pub lost: Vec<Option<u64>>,
    /// Number of events and pages that cannot be parsed.
    pub broken: u64,
}

/// The longest run on one CPU of a buffer. `comms` are names known from other parts of the trace.
#[must_use]
// The only caller is compiled for size; inlined, this function would be too.
#[inline(never)]
pub fn longest_run_of_pages(
    buffer: &Buffer,
    of: &CpuPages,
    formats: &Formats,
    comms: &HashMap<i32, String>,
    threads: &ThreadFilter,
) -> RunsOfCpu {
    let mut scan = Scan {
        formats,
        comms,
        threads,
        switch: SwitchFields::of(formats),
        before: None,
        current: None,
        longest: RunMaximum::default(),
        runs: RunsOfCpu::default(),
    };
    let mut pages = buffer.pages(of).peekable();
    while let Some(bytes) = pages.next() {
        if let Some(next) = pages.peek() {
            events::prefetch(next);
        }
        match Page::parse(bytes, &buffer.layout) {
            Ok(page) => scan.page(&page),
            Err(_) => scan.broken(),
        }
    }
    scan.end(of.cpu)
}

/// The fields of `sched_switch` for the next thread.
struct SwitchFields {
    id: u16,
    prev_comm: Field,
    next_pid: Field,
    next_comm: Field,
}

impl SwitchFields {
    fn of(formats: &Formats) -> Option<SwitchFields> {
        let format = formats.named("sched", "sched_switch")?;
        let field = |name: &str| format.field(name).cloned();
        Some(SwitchFields {
            id: format.id,
            prev_comm: field("prev_comm")?,
            next_pid: field("next_pid")?,
            next_comm: field("next_comm")?,
        })
    }
}

#[derive(Default)]
struct RunMaximum {
    len: u64,
    run: Option<(u64, u64, i32, String)>,
}

struct Scan<'a> {
    formats: &'a Formats,
    comms: &'a HashMap<i32, String>,
    threads: &'a ThreadFilter,
    switch: Option<SwitchFields>,
    /// Time of the previous event, and the thread current after it.
    before: Option<(u64, i32)>,
    /// The running thread according to the last switch, and that event.
    current: Option<(i32, &'a [u8])>,
    longest: RunMaximum,
    runs: RunsOfCpu,
}

impl<'a> Scan<'a> {
    fn page(&mut self, page: &Page<'a>) {
        match page.lost {
            LostEntries::None => {}
            LostEntries::Counted(count) => self.lost(Some(count)),
            LostEntries::Uncounted => self.lost(None),
        }
        let mut before = self.before;
        for record in page.records() {
            let Ok(record) = record else {
                self.broken();
                return;
            };
            self.runs.events += 1;
            match self.formats.common(record.payload) {
                Some(common) => before = Some(self.event(before, record.at, common, record.payload)),
                None => self.runs.broken += 1,
            }
        }
        self.before = before;
    }

    fn lost(&mut self, count: Option<u64>) {
        self.runs.lost.push(count);
        self.before = None;
    }

    fn broken(&mut self) {
        self.runs.broken += 1;
        self.before = None;
    }

    /// Processes one event; returns `before` for the next one.
    #[inline]
    fn event(&mut self, before: Option<(u64, i32)>, at: u64, common: CommonValues, payload: &'a [u8]) -> (u64, i32) {
        let CommonValues { id, pid, .. } = common;
        // A thread that is current at both events was current in between, too.
        if let Some((since, running)) = before
            && running == pid
            && at.saturating_sub(since) > self.longest.len
            && self.threads.may_be(pid)
        {
            self.perhaps_longest((since, at), pid, id, payload);
        }
        let mut running = pid;
        if let Some(switch) = self.switch.as_ref().filter(|switch| switch.id == id)
            && let Some(next) = switch.next_pid.number(payload, self.formats.endian)
        {
            running = next as i32;
            self.current = Some((running, payload));
        }
        (at, running)
    }

    #[cold]
    fn perhaps_longest(&mut self, (since, at): (u64, u64), pid: i32, id: u16, payload: &'a [u8]) {
        let comm = self.comm(pid, id, payload);
        if self.threads.is(pid, &comm) {
            self.longest.len = at - since;
            self.longest.run = Some((since, at, pid, comm.into_owned()));
        }
    }

    /// The name of the thread that was current at an event.
    fn comm(&self, pid: i32, id: u16, payload: &'a [u8]) -> Cow<'a, str> {
        let comm = self.switch.as_ref().and_then(|switch| match self.current {
            _ if switch.id == id => switch.prev_comm.text(payload, self.formats.endian),
            Some((current, came)) if current == pid => switch.next_comm.text(came, self.formats.endian),
            _ => None,
        });
        match comm {
            Some(comm) => String::from_utf8_lossy(comm),
            None => Cow::Borrowed(self.comms.get(&pid).map_or("<...>", String::as_str)),
        }
    }

    fn end(self, cpu: u32) -> RunsOfCpu {
        let longest = self.longest.run.map(|(start, end, pid, comm)| ThreadPeriod {
            cpu,
            pid,
            comm,
            start,
            end,
            first_runner: None,
        });
        RunsOfCpu { longest, ..self.runs }
    }
}
