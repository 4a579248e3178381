//! Defines what `blame` watches, for how long, and how it traces.

use crate::trace_clock::TraceClock;
use blame::GapSelection;
use machine::CpuSet;
use measure::{Lane, Progress};
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use tracing::ipi_senders::Kprobes;

/// The shortest gap that counts by default.
pub(crate) const DEFAULT_THRESHOLD: Duration = Duration::from_micros(1);

/// The duration of a run without another end.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// The number of longest gaps per CPU that the screen draws and the function tracer explains.
pub const LONGEST_GAPS: usize = 3;

/// Options of every run of `blame`.
#[derive(Clone, Debug)]
pub struct BlameOptions {
    /// The CPUs, as an expression. By default the run chooses them.
    pub cpus: Option<String>,
    /// The duration of the run. By default 10 seconds, or as long as a command runs.
    pub duration: Option<Duration>,
    /// The run ends at the first gap of this length.
    pub until: Option<Duration>,
    /// Which gaps the report lists individually.
    pub detail: GapDetail,
    /// Memory for events that are not yet attributed, in bytes. With [`GapDetail::All`] the gaps take half of it.
    pub memory_bytes: usize,
    /// The kernel's trace buffer of each CPU, in KiB.
    pub buffer_kib: u64,
    /// The clock of gaps and events. By default the best one that the trace supports.
    pub clock: Option<TraceClock>,
    /// Trace kernel functions too.
    pub functions: Option<FunctionOptions>,
    /// Whether kprobes may replace events that the kernel lacks.
    pub kprobes: Kprobes,
}

/// Which gaps the report lists individually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapDetail {
    /// The longest gaps of each CPU.
    Longest,
    /// All gaps that fit in memory, from the first.
    All,
}

/// How kernel functions are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionOptions {
    /// The maximum call depth; unlimited by default.
    pub depth: Option<u32>,
}

/// Options of a run with a probe.
pub struct ProbeOptions<'a> {
    /// The minimum length of a gap.
    pub threshold: Duration,
    /// Sets policy and priority of a sampler.
    pub policy: &'a dyn Fn(&mut Lane),
    /// How long the hwlat tracer runs afterwards.
    pub hwlat: Option<Duration>,
}

/// A process that already runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessOptions {
    /// Its PID, or the TID of one of its threads.
    pub pid: u32,
    /// Which of its threads.
    pub scope: ThreadScope,
}

/// Which threads of a process are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadScope {
    /// All threads of the process.
    Process,
    /// Only the thread with that number.
    Thread,
}

/// A command that is started and watched.
#[derive(Clone, Debug)]
pub struct CommandOptions<'a> {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where its standard output goes; by default to our own.
    pub stdout: Option<BorrowedFd<'a>>,
}

/// The stage of a run, for the progress display.
pub enum BlameStage<'a> {
    /// The run watches these CPUs from now on.
    Started(&'a CpuSet),
    /// The probe measures.
    Measuring(&'a Progress),
    /// The probe has ended.
    Measured,
}

impl BlameOptions {
    /// Which gaps of each CPU the attribution keeps. All CPUs get an equal share of the memory.
    pub(crate) fn gaps_to_keep(&self, cpus: usize) -> GapSelection {
        match self.detail {
            GapDetail::Longest => GapSelection::Longest(LONGEST_GAPS),
            GapDetail::All => GapSelection::First((self.memory_bytes / 2) / cpus.max(1)),
        }
    }

    /// Memory for events that wait for attribution, in bytes.
    pub(crate) const fn waiting_bytes(&self) -> usize {
        match self.detail {
            GapDetail::Longest => self.memory_bytes,
            GapDetail::All => self.memory_bytes / 2,
        }
    }

    /// The gap length that ends the run, in nanoseconds.
    pub(crate) fn limit_ns(&self) -> Option<u64> {
        self.until.map(machine::nanoseconds)
    }
}
