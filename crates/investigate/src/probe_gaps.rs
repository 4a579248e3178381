//! Collects the observations of a probe, its gaps and the watched time of each CPU, on the trace clock.

use crate::gap_join::GapJoin;
use crate::trace_clock::TraceClock;
use blame::{BlameTarget, Gap, Victim};
use machine::CpuId;
use measure::{RawGap, RawWindow, Watcher};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The observations of the probe.
#[derive(Default)]
pub struct ProbeGaps {
    /// The sampler measures with the raw clock; gaps are converted to this one.
    clock: TraceClock,
    gaps: RefCell<BTreeMap<CpuId, Vec<Gap>>>,
    /// The time during which each CPU has been watched.
    windows: RefCell<BTreeMap<CpuId, ProbeWindow>>,
}

/// The start and end of the watched time of a CPU, and its thread.
struct ProbeWindow {
    cpu: CpuId,
    tid: u32,
    start: u64,
    end: u64,
}

impl Watcher for ProbeGaps {
    fn gaps(&self, gaps: &[RawGap]) {
        let (mut all, ahead_ns) = (self.gaps.borrow_mut(), self.clock.ahead_ns());
        for gap in gaps {
            let start = gap.start_raw_ns.saturating_add_signed(ahead_ns);
            let end = start.saturating_add(gap.duration_ns);
            all.entry(gap.cpu).or_default().push(Gap { start, end });
        }
    }

    fn window(&self, window: &RawWindow) {
        let mut windows = self.windows.borrow_mut();
        let ahead_ns = self.clock.ahead_ns();
        let here = |raw_ns: u64| raw_ns.saturating_add_signed(ahead_ns);
        let known = windows.entry(window.cpu).or_insert(ProbeWindow {
            cpu: window.cpu,
            tid: window.tid,
            start: here(window.start_raw_ns),
            end: 0,
        });
        known.end = known.end.max(here(window.end_raw_ns));
    }
}

/// The maximum difference between the clocks of gaps and trace, which are read by different code.
const APART_NS: u64 = 10_000;

impl ProbeGaps {
    /// Starts without gaps, with the clock of the trace.
    pub fn new(clock: TraceClock) -> ProbeGaps {
        ProbeGaps {
            clock,
            ..ProbeGaps::default()
        }
    }

    /// Delivers the observations since the last call. Returns the time up to which all of these CPUs are known; 0 until the
    /// last of them has started.
    pub fn hand_on(&self, join: &mut GapJoin, cpus: usize) -> u64 {
        let windows = self.windows.borrow();
        if windows.len() < cpus {
            return 0;
        }
        if !join.has_started() {
            join.set_targets(windows.values().map(target).collect());
        }
        for (cpu, gaps) in self.gaps.take() {
            join.gaps(cpu.0, &gaps);
        }
        let ends = windows.values().map(|window| window.end);
        ends.min().unwrap_or(0).saturating_sub(APART_NS)
    }

    /// The same at the end, even if not all CPUs have started.
    pub fn end(&self, join: &mut GapJoin) {
        self.hand_on(join, 0);
        for window in self.windows.borrow().values() {
            join.ends(window.cpu.0, window.end);
        }
    }
}

/// The target of a CPU. Gaps and the end of the window follow later.
fn target(window: &ProbeWindow) -> BlameTarget {
    BlameTarget {
        cpu: window.cpu.0,
        victim: Victim {
            pids: vec![window.tid.cast_signed()],
            ..Victim::default()
        },
        window: Gap {
            start: window.start,
            end: u64::MAX,
        },
        gaps: Some(Vec::new()),
    }
}
